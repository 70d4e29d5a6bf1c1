// SPDX-License-Identifier: Apache-2.0
// InferShapes: checks how a graph's blobs are wired and asks every operator's shape rule.
#include <fmt/core.h>

#include <set>

#include "base/memory_budget.h"
#include "op/core/op.h"
#include "plumb/tool/printing.h"

namespace plumb {
namespace {

std::string LayerFrame(const Layer& layer) {
  return fmt::format("layer {} '{}' ({})", layer.index, Printable(layer.name), Printable(layer.type));
}

Status CheckArity(const Layer& layer, const OpDef& op) {
  const int inputs = static_cast<int>(layer.inputs.size());
  const int outputs = static_cast<int>(layer.outputs.size());
  if (inputs < op.min_inputs || (op.max_inputs >= 0 && inputs > op.max_inputs)) {
    const std::string range = op.max_inputs < 0                ? std::to_string(op.min_inputs) + " or more"
                              : op.min_inputs == op.max_inputs ? std::to_string(op.min_inputs)
                                                               : fmt::format("{} to {}", op.min_inputs, op.max_inputs);
    return Status::CorruptModel(fmt::format("takes {} inputs, found {}", range, inputs));
  }
  if (outputs == 0 || (op.num_outputs >= 0 && outputs != op.num_outputs)) {
    return Status::CorruptModel(fmt::format("has {} outputs, found {}", op.num_outputs, outputs));
  }
  return Status::Ok();
}

// What no machine of this size can hold is refused while it is still a shape.
Status CheckBlobFits(const BlobInfo& blob) {
  PLUMB_RETURN_IF_ERROR(blob.shape.Validate());
  const uint64_t bytes = static_cast<uint64_t>(blob.shape.NumElements()) * DTypeSize(blob.dtype);
  if (bytes <= MemoryBudget()) return Status::Ok();
  return NoMemory(bytes, fmt::format("a tensor {} {}", blob.shape.ToString(), DTypeName(blob.dtype)));
}

Status InferLayer(const Layer& layer, BlobTable* blobs) {
  const OpDef& op = GetOp(layer.kind);
  PLUMB_RETURN_IF_ERROR(CheckArity(layer, op));
  ShapeContext context{layer, {}, std::vector<BlobInfo>(layer.outputs.size())};
  for (const std::string& name : layer.inputs) {
    const auto it = blobs->find(name);
    if (it == blobs->end()) {
      return Status::CorruptModel(
          fmt::format("reads blob '{}', which no earlier layer, input or constant defines", name));
    }
    context.inputs.push_back(it->second);
  }
  PLUMB_RETURN_IF_ERROR(op.infer(context));
  for (size_t i = 0; i < layer.outputs.size(); ++i) {
    PLUMB_RETURN_IF_ERROR(
        CheckBlobFits(context.outputs[i]).AddContext(fmt::format("output blob '{}'", layer.outputs[i])));
    if (!blobs->emplace(layer.outputs[i], context.outputs[i]).second) {
      return Status::CorruptModel(fmt::format("writes blob '{}', which is already defined", layer.outputs[i]));
    }
  }
  return Status::Ok();
}

Status AddInputs(const Graph& graph, const std::map<std::string, Shape>& input_shapes, BlobTable* blobs) {
  std::set<std::string> unused;
  for (const auto& entry : input_shapes) unused.insert(entry.first);
  for (const GraphInput& input : graph.inputs) {
    const auto it = input_shapes.find(input.name);
    const Shape& shape = it == input_shapes.end() ? input.shape : it->second;
    unused.erase(input.name);
    PLUMB_RETURN_IF_ERROR(
        CheckBlobFits({input.dtype, shape, Tensor()}).AddContext(fmt::format("network input '{}'", input.name)));
    if (!blobs->emplace(input.name, BlobInfo{input.dtype, shape, Tensor()}).second) {
      return Status::CorruptModel(
          fmt::format("network input '{}' is declared twice or is also a constant", input.name));
    }
  }
  if (unused.empty()) return Status::Ok();
  std::string known;
  for (const GraphInput& input : graph.inputs) known += fmt::format("{}{}'", known.empty() ? "'" : ", '", input.name);
  return Status::InvalidArgument(
      fmt::format("a shape is given for '{}', but the network inputs are {}", *unused.begin(), known));
}

}  // namespace

Result<BlobTable> InferShapes(const Graph& graph, const std::map<std::string, Shape>& input_shapes) {
  const std::string frame = fmt::format("model '{}'", graph.source);
  BlobTable blobs;
  for (const auto& [name, value] : graph.constants) blobs[name] = BlobInfo{value.dtype(), value.shape(), value};
  PLUMB_RETURN_IF_ERROR(AddInputs(graph, input_shapes, &blobs).AddContext(frame));
  for (const Layer& layer : graph.layers) {
    PLUMB_RETURN_IF_ERROR(InferLayer(layer, &blobs).AddContext(LayerFrame(layer)).AddContext(frame));
  }
  for (const std::string& name : graph.outputs) {
    if (blobs.count(name) == 0) {
      return Status::CorruptModel(fmt::format("{}: network output '{}' is produced by no layer", frame, name));
    }
  }
  return blobs;
}

}  // namespace plumb
