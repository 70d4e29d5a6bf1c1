// SPDX-License-Identifier: Apache-2.0
#include "dump/io_tensors.h"

#include <fmt/core.h>

#include "base/file.h"
#include "dump/manifest.h"

namespace plumb {

Status SaveIoTensors(const Network& network, bool outputs, const std::string& folder, std::vector<std::string>* files) {
  const std::string base = outputs ? "output_ref_data" : "input_ref_data";
  std::vector<std::string> names;
  if (outputs) {
    names = network.graph().outputs;
  } else {
    for (const GraphInput& input : network.graph().inputs) names.push_back(input.name);
  }
  std::vector<IoTensor> described;
  PLUMB_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(fmt::format("{}/{}.dat", folder, base)));
  for (const std::string& name : names) {
    PLUMB_ASSIGN_OR_RETURN(const Tensor tensor, outputs ? network.GetCarriedOutput(name) : network.GetInput(name));
    described.push_back({name, tensor.dtype(), tensor.shape(), file.bytes_written()});
    PLUMB_RETURN_IF_ERROR(file.Write(tensor.raw(), tensor.bytes()));
  }
  PLUMB_RETURN_IF_ERROR(file.Commit());
  PLUMB_RETURN_IF_ERROR(WriteIoDescription(fmt::format("{}/{}.json", folder, base), base + ".dat", described));
  files->push_back(base + ".dat");
  files->push_back(base + ".json");
  return Status::Ok();
}

}  // namespace plumb
