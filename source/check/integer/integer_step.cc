// SPDX-License-Identifier: Apache-2.0
#include "check/integer/integer_step.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace plumb {

void NoteWritten(std::vector<int64_t> integers, IntegerStep* step) {
  const bool limits = std::all_of(step->tail_layers.begin(), step->tail_layers.end(),
                                  [](const Layer& layer) { return layer.kind == OpKind::kReLU; });
  if (limits && static_cast<int64_t>(integers.size()) == step->shape.NumElements()) step->written = std::move(integers);
}

Result<Tensor> BehindTail(const IntegerStep& step, const BlobTable& blobs, const std::vector<int64_t>& integers) {
  PLUMB_ASSIGN_OR_RETURN(Tensor whole, Tensor::Create(DType::kF64, step.shape));
  const auto taken = [&](int64_t q) { return !step.signed_bytes ? q : q < 0 ? q + 128 : q - 128; };  // and back
  for (size_t i = 0; i < integers.size(); ++i)
    whole.data<double>()[i] = static_cast<double>(taken(integers[i]) - step.zero);
  if (!step.tail_layers.empty()) {
    LayerGroup tail = step.tail;
    for (const Layer& layer : step.tail_layers) tail.members.push_back(&layer);
    std::vector<Tensor> inputs = step.tail_inputs;
    inputs[0] = whole;
    PLUMB_ASSIGN_OR_RETURN(const ReplayResult replay, ReplayValues(tail, inputs, blobs));
    whole = replay.values[0];
  }
  if (whole.dtype() != DType::kF64) return Status::NotSupported("no floats");
  PLUMB_ASSIGN_OR_RETURN(Tensor result, Tensor::Create(DType::kI64, whole.shape()));
  for (int64_t i = 0; i < whole.NumElements(); ++i) {
    const double value = whole.data<double>()[i];
    if (!(std::fabs(value) < 0x1p40)) return Status::NotSupported("no integer");
    result.data<int64_t>()[i] = taken(static_cast<int64_t>(value) + step.zero);
  }
  return result;
}

}  // namespace plumb
