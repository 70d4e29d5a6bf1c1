// InferShapes: checks how a graph's blobs are wired and asks every operator's shape rule.
#include <set>

#include "base/memory_budget.h"
#include "op/core/op.h"
#include "plumb/printing.h"

namespace plumb {
namespace {

std::string LayerFrame(const Layer& layer) {
  return "layer " + std::to_string(layer.index) + " '" + Printable(layer.name) + "' (" + Printable(layer.type) + ")";
}

Status CheckArity(const Layer& layer, const OpDef& op) {
  const int inputs = static_cast<int>(layer.inputs.size());
  const int outputs = static_cast<int>(layer.outputs.size());
  if (inputs < op.min_inputs || (op.max_inputs >= 0 && inputs > op.max_inputs)) {
    const std::string range = op.max_inputs < 0 ? std::to_string(op.min_inputs) + " or more"
                              : op.min_inputs == op.max_inputs
                                  ? std::to_string(op.min_inputs)
                                  : std::to_string(op.min_inputs) + " to " + std::to_string(op.max_inputs);
    return Status::CorruptModel("takes " + range + " inputs, found " + std::to_string(inputs));
  }
  if (outputs == 0 || (op.num_outputs >= 0 && outputs != op.num_outputs)) {
    return Status::CorruptModel("has " + std::to_string(op.num_outputs) + " outputs, found " + std::to_string(outputs));
  }
  return Status::Ok();
}

// What no machine of this size can hold is refused while it is still a shape.
Status CheckBlobFits(const BlobInfo& blob) {
  PLUMB_RETURN_IF_ERROR(blob.shape.Validate());
  const uint64_t bytes = static_cast<uint64_t>(blob.shape.NumElements()) * DTypeSize(blob.dtype);
  if (bytes <= MemoryBudget()) return Status::Ok();
  return NoMemory(bytes, "a tensor " + blob.shape.ToString() + " " + DTypeName(blob.dtype));
}

Status InferLayer(const Layer& layer, BlobTable* blobs) {
  const OpDef& op = GetOp(layer.kind);
  PLUMB_RETURN_IF_ERROR(CheckArity(layer, op));
  ShapeContext context{layer, {}, std::vector<BlobInfo>(layer.outputs.size())};
  for (const std::string& name : layer.inputs) {
    const auto it = blobs->find(name);
    if (it == blobs->end()) {
      return Status::CorruptModel("reads blob '" + name + "', which no earlier layer, input or constant defines");
    }
    context.inputs.push_back(it->second);
  }
  PLUMB_RETURN_IF_ERROR(op.infer(context));
  for (size_t i = 0; i < layer.outputs.size(); ++i) {
    PLUMB_RETURN_IF_ERROR(CheckBlobFits(context.outputs[i]).AddContext("output blob '" + layer.outputs[i] + "'"));
    if (!blobs->emplace(layer.outputs[i], context.outputs[i]).second) {
      return Status::CorruptModel("writes blob '" + layer.outputs[i] + "', which is already defined");
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
        CheckBlobFits({input.dtype, shape, Tensor()}).AddContext("network input '" + input.name + "'"));
    if (!blobs->emplace(input.name, BlobInfo{input.dtype, shape, Tensor()}).second) {
      return Status::CorruptModel("network input '" + input.name + "' is declared twice or is also a constant");
    }
  }
  if (unused.empty()) return Status::Ok();
  std::string known;
  for (const GraphInput& input : graph.inputs) known += (known.empty() ? "'" : ", '") + input.name + "'";
  return Status::InvalidArgument("a shape is given for '" + *unused.begin() + "', but the network inputs are " + known);
}

}  // namespace

Result<BlobTable> InferShapes(const Graph& graph, const std::map<std::string, Shape>& input_shapes) {
  const std::string frame = "model '" + graph.source + "'";
  BlobTable blobs;
  for (const auto& [name, value] : graph.constants) blobs[name] = BlobInfo{value.dtype(), value.shape(), value};
  PLUMB_RETURN_IF_ERROR(AddInputs(graph, input_shapes, &blobs).AddContext(frame));
  for (const Layer& layer : graph.layers) {
    PLUMB_RETURN_IF_ERROR(InferLayer(layer, &blobs).AddContext(LayerFrame(layer)).AddContext(frame));
  }
  for (const std::string& name : graph.outputs) {
    if (blobs.count(name) == 0) {
      return Status::CorruptModel(frame + ": network output '" + name + "' is produced by no layer");
    }
  }
  return blobs;
}

}  // namespace plumb
