// SPDX-License-Identifier: Apache-2.0
// StageNetwork: the network of a pipeline, as stage_diff runs it on a mended input.
#include <fmt/core.h>

#include "plumb/inputs.h"
#include "plumb/plumb.h"
#include "plumb/stage.h"

namespace plumb {

Result<StageModel> StageNetwork(const std::string& path) {
  LoadOptions load;
  load.evaluator = ReferenceEvaluator();
  PLUMB_ASSIGN_OR_RETURN(Graph graph, LoadModel(path, load));
  if (graph.inputs.size() != 1)
    return Status::NotSupported(
        fmt::format("model '{}' has {} inputs; a pipeline's network has one", path, graph.inputs.size()));
  PLUMB_ASSIGN_OR_RETURN(std::shared_ptr<Device> device, OpenDevice(CpuDeviceName()));
  const auto shared = std::make_shared<const Graph>(std::move(graph));
  NetworkOptions options;
  options.fallback = true;
  PLUMB_ASSIGN_OR_RETURN(std::unique_ptr<Network> created, Network::Create(shared, device, options));
  const std::shared_ptr<Network> network = std::move(created);
  return StageModel([network, shared](const Tensor& input) -> Result<std::vector<Tensor>> {
    InputOptions inputs;
    inputs.name = "the pipeline";
    inputs.values[shared->inputs[0].name] = input;
    PLUMB_ASSIGN_OR_RETURN(const NetworkInputs ready, PrepareInputs(inputs, *shared));
    PLUMB_ASSIGN_OR_RETURN(const auto outputs, RunNetwork(network.get(), ready.values));
    std::vector<Tensor> values;
    for (const std::string& name : shared->outputs) values.push_back(outputs.at(name));
    return values;
  });
}

}  // namespace plumb
