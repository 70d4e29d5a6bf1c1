// SPDX-License-Identifier: Apache-2.0
#include "check/walk/rest_of_network.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "device/device.h"
#include "device/grouped_step.h"

namespace plumb {
namespace {

// The layers behind the step as a graph of their own.
Graph GraphBehind(const Network& network, size_t position) {
  Graph rest;
  rest.source = network.graph().source;
  std::set<std::string> written, read;
  const std::vector<const StepInfo*> steps = network.steps();
  for (size_t i = position + 1; i < steps.size(); ++i) {
    for (const Layer* layer : GroupOf(*steps[i]).members) {
      rest.layers.push_back(*layer);
      for (const std::string& input : layer->inputs) {
        if (written.count(input) == 0) read.insert(input);
      }
      written.insert(layer->outputs.begin(), layer->outputs.end());
    }
  }
  for (const std::string& blob : read) {
    const BlobInfo& info = network.blobs().at(blob);
    if (!info.value.empty()) {
      rest.constants[blob] = info.value;
    } else {
      rest.inputs.push_back({blob, info.dtype, info.shape});
    }
  }
  const auto& outputs = network.graph().outputs;
  std::copy_if(outputs.begin(), outputs.end(), std::back_inserter(rest.outputs),
               [&](const std::string& output) { return written.count(output) != 0; });
  return rest;
}

NetworkOptions OptionsOfRest(const Network& network, const Graph& rest) {
  NetworkOptions options = network.options();
  options.input_shapes.clear();
  std::map<std::string, std::string> kernels;
  for (const Layer& layer : rest.layers) {
    const auto asked = options.kernels.find(layer.name);
    if (asked != options.kernels.end()) kernels.insert(*asked);
  }
  options.kernels = std::move(kernels);
  return options;
}

}  // namespace

Result<std::map<std::string, Tensor>> RunRestOf(const Network& network, size_t position,
                                                const std::map<std::string, Tensor>& blobs) {
  const auto graph = std::make_shared<const Graph>(GraphBehind(network, position));
  std::map<std::string, Tensor> outputs;
  if (graph->outputs.empty()) return outputs;
  const std::shared_ptr<Device> device(std::shared_ptr<void>(), &network.device());  // the network keeps it
  PLUMB_ASSIGN_OR_RETURN(const auto rest, Network::Create(graph, device, OptionsOfRest(network, *graph)));
  for (const GraphInput& input : graph->inputs) {
    const auto value = blobs.find(input.name);
    if (value == blobs.end()) return Status::NotFound(fmt::format("no blob '{}'", input.name));
    PLUMB_ASSIGN_OR_RETURN(const Tensor narrow, value->second.ConvertedTo(input.dtype));
    PLUMB_RETURN_IF_ERROR(rest->SetInput(input.name, narrow));
  }
  PLUMB_RETURN_IF_ERROR(rest->Forward());
  for (const std::string& output : graph->outputs) {
    PLUMB_ASSIGN_OR_RETURN(outputs[output], rest->GetCarriedOutput(output));
  }
  return outputs;
}

}  // namespace plumb
