// SPDX-License-Identifier: Apache-2.0
// Any bytes as the description of a dump of Core AI or of msprobe, beside one good .npy file: an error or tensors that
// lie in the folder, which are read or refused; never a crash.
#include <cstdint>
#include <cstdlib>
#include <filesystem>

#include "fuzz_folder.h"
#include "interop/foreign_formats.h"
#include "plumb/tensor_file.h"
#include "plumb/tool/file.h"

namespace plumb {
namespace {

FuzzFolder& Folder() {
  static FuzzFolder folder;
  static const bool filled = [] {
    for (const char* name : {"/x.aimodelintermediates/data", "/dump_tensor_data"}) {
      std::filesystem::create_directories(folder.path() + name);
      if (!WriteTensors(folder.path() + name + "/a.npy", {{"", Tensor::Create(DType::kF32, {2, 3}).value()}}).ok())
        std::abort();
    }
    return true;
  }();
  (void)filled;
  return folder;
}

void Read(ForeignRead (*read)(const ForeignPlace&), const std::string& name, const uint8_t* data, size_t size) {
  Folder().Write(name, data, size);
  ForeignPlace place;
  place.path = Folder().path() + "/" + name;
  const ForeignRead found = read(place);
  if (!found.ok() && found.status().message().empty()) std::abort();
  if (!found.ok() || !*found) return;
  for (const StoredTensor& tensor : (*found)->tensors) {
    if (tensor.origin.rfind(Folder().path(), 0) != 0 || tensor.origin.find("/../") != std::string::npos) std::abort();
    const auto value = tensor.load();
    if (!value.ok() && value.status().message().empty()) std::abort();
  }
}

}  // namespace
}  // namespace plumb

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  plumb::Read(plumb::ReadCoreAi, "x.aimodelintermediates/metadata.json", data, size);
  plumb::Read(plumb::ReadMsprobe, "dump.json", data, size);
  return 0;
}
