// SPDX-License-Identifier: Apache-2.0
#include "graph/resources.h"

#include <fmt/core.h>

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "base/memory_budget.h"
#include "plumb/tool/printing.h"

namespace plumb {
namespace {

constexpr size_t kShown = 8;  // missing resources that one message lists

bool IsQuantized(const Layer& layer) { return layer.quantized || layer.dynamic_range_quantized; }

Status CheckDType(const std::string& slot, const Tensor& tensor) {
  const bool weight_like = slot == "weight" || slot == "bias" || slot == "scale" || slot == "slope";
  if (!weight_like || IsFloat(tensor.dtype())) return Status::Ok();
  return Status::CorruptModel(fmt::format(
      "{} expects f32 or f16 values, found {}: only a layer whose type says Quantized has integers, int8 weights with "
      "their scales and an i32 bias",
      slot, DTypeName(tensor.dtype())));
}

Status CheckResource(const Layer& layer, const ResourceSpec& spec, Tensor* tensor) {
  if (!IsQuantized(layer)) PLUMB_RETURN_IF_ERROR(CheckDType(spec.slot, *tensor));
  PLUMB_RETURN_IF_ERROR(spec.shape.Validate().AddContext(spec.slot));
  if (tensor->NumElements() != spec.shape.NumElements()) {
    return Status::CorruptModel(fmt::format(
        "{} expects {} elements {}, found {} {}: the weights belong to another network, or the input shape differs",
        spec.slot, spec.shape.NumElements(), spec.shape.ToString(), tensor->NumElements(), tensor->shape().ToString()));
  }
  if (tensor->shape() == spec.shape) return Status::Ok();
  PLUMB_ASSIGN_OR_RETURN(*tensor, tensor->Reshaped(spec.shape));
  return Status::Ok();
}

}  // namespace

Status CheckFloats(const Layer& layer) {
  for (const auto& [slot, tensor] : layer.resources) PLUMB_RETURN_IF_ERROR(CheckDType(slot, tensor));
  return Status::Ok();
}

std::string LayerFrame(const Graph& graph, const Layer& layer) {
  return fmt::format("model '{}': layer {} '{}' ({})", graph.source, layer.index, Printable(layer.name),
                     Printable(layer.type));
}

bool SameTensor(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() && a.empty() == b.empty() &&
         (a.empty() || std::memcmp(a.raw(), b.raw(), a.bytes()) == 0);
}

bool SameResources(const std::map<std::string, Tensor>& a, const std::map<std::string, Tensor>& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](const auto& x, const auto& y) {
           return x.first == y.first && SameTensor(x.second, y.second);
         });
}

Result<std::vector<ResourceSpec>> SpecsOf(const Graph& graph, const Layer& layer, const BlobTable& blobs) {
  std::vector<ResourceSpec> specs;
  const OpDef& op = GetOp(layer.kind);
  if (op.resource_specs == nullptr) return specs;
  std::vector<BlobInfo> inputs;
  for (const std::string& name : layer.inputs) {
    const auto it = blobs.find(name);
    if (it == blobs.end())
      return Status::Internal(fmt::format("{}: blob '{}' has no shape", LayerFrame(graph, layer), name));
    inputs.push_back(it->second);
  }
  const Status status = op.resource_specs(layer, inputs, &specs);
  if (!status.ok()) return status.AddContext(LayerFrame(graph, layer));
  return specs;
}

namespace {

// A bias that the parameters deny: TNN goes by the parameters, so every device must.
void DropDeniedBias(const std::vector<ResourceSpec>& specs, Layer* layer, Graph* graph) {
  const bool wanted = std::any_of(specs.begin(), specs.end(), [](const auto& spec) { return spec.slot == "bias"; });
  if (wanted || layer->Resource("bias") == nullptr) return;
  layer->resources.erase("bias");
  graph->notes.push_back(
      fmt::format("layer {} '{}' ({}): its parameters say that it has no bias, so the bias in the weights is ignored",
                  layer->index, layer->name, layer->type));
}

}  // namespace

Status CheckResources(const BlobTable& blobs, Graph* graph) {
  std::string missing;
  size_t num_missing = 0;
  for (Layer& layer : graph->layers) {
    PLUMB_ASSIGN_OR_RETURN(const std::vector<ResourceSpec> specs, SpecsOf(*graph, layer, blobs));
    if (!specs.empty()) DropDeniedBias(specs, &layer, graph);
    for (const ResourceSpec& spec : specs) {
      const auto it = layer.resources.find(spec.slot);
      if (it != layer.resources.end() && !it->second.empty()) {
        PLUMB_RETURN_IF_ERROR(CheckResource(layer, spec, &it->second).AddContext(LayerFrame(*graph, layer)));
      } else if (spec.required) {
        if (++num_missing > kShown) continue;
        missing += fmt::format("{}{} {} of layer {} '{}' ({})", missing.empty() ? "" : ", ", spec.slot,
                               spec.shape.ToString(), layer.index, layer.name, layer.type);
      }
    }
  }
  if (num_missing == 0) return Status::Ok();
  if (num_missing > kShown) missing += fmt::format(" and {} more", num_missing - kShown);
  return Status::CorruptModel(fmt::format(
      "model '{}': the weights miss {}; take the tnnmodel that belongs to this tnnproto, or generate weights",
      graph->source, missing));
}

Status ExpandHalf(Graph* graph, bool skipped) {
  int num_expanded = 0;
  const auto expand = [&num_expanded, skipped](Tensor* tensor) -> Status {
    if (tensor->empty() || (tensor->dtype() != DType::kF16 && tensor->dtype() != DType::kBF16)) return Status::Ok();
    ++num_expanded;
    if (skipped && IsSkippedWeight(tensor->dtype(), tensor->shape())) {
      PLUMB_ASSIGN_OR_RETURN(*tensor, UntouchedZeros(DType::kF32, tensor->shape()));
      return Status::Ok();
    }
    PLUMB_ASSIGN_OR_RETURN(*tensor, tensor->ConvertedTo(DType::kF32));
    return Status::Ok();
  };
  for (Layer& layer : graph->layers) {
    for (auto& entry : layer.resources) PLUMB_RETURN_IF_ERROR(expand(&entry.second));
  }
  for (auto& entry : graph->constants) PLUMB_RETURN_IF_ERROR(expand(&entry.second));
  if (num_expanded > 0) {
    graph->notes.push_back(std::to_string(num_expanded) +
                           " weights are stored as f16 or bf16 and were expanded to f32");
  }
  return Status::Ok();
}

bool IsSkippedWeight(DType dtype, const Shape& shape) {
  constexpr uint64_t kLargeWeight = uint64_t{64} << 10;  // what shapes are computed from is smaller
  return IsFloat(dtype) && static_cast<uint64_t>(shape.NumElements()) * DTypeSize(dtype) >= kLargeWeight;
}

Result<Tensor> UntouchedZeros(DType dtype, const Shape& shape) {
  const size_t bytes = static_cast<size_t>(shape.NumElements()) * DTypeSize(dtype);
  void* const memory =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return NoMemory(bytes, fmt::format("a weight {}", shape.ToString()));
  const std::shared_ptr<void> owner(memory, [bytes](void* address) { ::munmap(address, bytes); });
  return Tensor::View(dtype, shape, memory, owner);
}

}  // namespace plumb
