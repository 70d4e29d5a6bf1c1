// SPDX-License-Identifier: Apache-2.0
#include "check/judge/scene.h"

#include <algorithm>

#include "check/core/inspect.h"
#include "check/numbers/stored_half.h"
#include "op/core/op.h"

namespace plumb {

Result<std::vector<Tensor>> InputsOf(const Scene& scene, const LayerGroup& group) {
  std::vector<Tensor> inputs;
  for (const LayerGroup::Port& port : group.inputs) {
    const BlobInfo& info = scene.blobs->at(port.blob);
    Tensor value = info.value;
    if (value.empty()) {
      PLUMB_ASSIGN_OR_RETURN(value, scene.earlier(port.blob));
      if (value.shape() != info.shape) return Status::InvalidArgument("another shape");
    }
    PLUMB_ASSIGN_OR_RETURN(value, Widened(value));
    const bool rounded = scene.model->weights != DType::kF32 && info.dtype == DType::kF32;
    const DType storage = rounded ? scene.storage(group.outputs[0].blob) : DType::kF32;
    if (!info.value.empty() && storage != DType::kF32) {
      PLUMB_ASSIGN_OR_RETURN(value, RoundedTo(storage, value));
    }
    inputs.push_back(std::move(value));
  }
  return inputs;
}

const Layer* DequantizerOf(const Scene& scene, std::string blob) {
  for (auto layer = scene.graph->layers.rbegin(); layer != scene.graph->layers.rend(); ++layer) {  // makers come first
    if (std::find(layer->outputs.begin(), layer->outputs.end(), blob) == layer->outputs.end()) continue;
    if (layer->kind == OpKind::kPlumbDequantizeLinear) return &*layer;
    if (!GetOp(layer->kind).moves_data_only || layer->inputs.empty()) return nullptr;
    blob = layer->inputs[0];
  }
  return nullptr;
}

}  // namespace plumb
