// SPDX-License-Identifier: Apache-2.0
// Where: inputs x, y, condition (TNN's order); x where the condition is not 0, else y, with NumPy broadcasting of all
// three.
#include <fmt/core.h>

#include <algorithm>

#include "op/core/strided.h"

namespace plumb {
namespace {

Result<Tensor> EvaluateWhere(const std::vector<BlobInfo>& inputs, const Shape& out) {
  PLUMB_ASSIGN_OR_RETURN(const Tensor x, ApplyMap(BroadcastMap(inputs[0].shape, out), inputs[0].value));
  PLUMB_ASSIGN_OR_RETURN(Tensor y, ApplyMap(BroadcastMap(inputs[1].shape, out), inputs[1].value));
  PLUMB_ASSIGN_OR_RETURN(const Tensor condition, ApplyMap(BroadcastMap(inputs[2].shape, out), inputs[2].value));
  PLUMB_ASSIGN_OR_RETURN(const Tensor truth, condition.ConvertedTo(DType::kBool));
  const size_t size = DTypeSize(x.dtype());
  for (int64_t i = 0; i < y.NumElements(); ++i) {
    const size_t at = static_cast<size_t>(i) * size;
    if (truth.data<bool>()[i])
      std::copy_n(static_cast<const char*>(x.raw()) + at, size, static_cast<char*>(y.raw()) + at);
  }
  return y;
}

Status InferWhere(ShapeContext& context) {
  const DType dtype = context.inputs[0].dtype;
  if (context.inputs[1].dtype != dtype || IsFloat(context.inputs[2].dtype)) {
    return Status::InvalidArgument(
        fmt::format("expects x and y of one dtype and a condition of bool or integers, found {}, {} and {}",
                    DTypeName(dtype), DTypeName(context.inputs[1].dtype), DTypeName(context.inputs[2].dtype)));
  }
  PLUMB_ASSIGN_OR_RETURN(const Shape both, BroadcastShapes(context.shape(0), context.shape(1)));
  PLUMB_ASSIGN_OR_RETURN(const Shape out, BroadcastShapes(both, context.shape(2)));
  context.SetAll(dtype, out);
  bool known = out.NumElements() <= kMaxHostValues;
  for (const BlobInfo& in : context.inputs) known = known && HasHostValue(in);
  if (known) {
    PLUMB_ASSIGN_OR_RETURN(context.outputs[0].value, EvaluateWhere(context.inputs, out));
  }
  return Status::Ok();
}

}  // namespace

OpDef DefineWhere() {
  OpDef op;
  op.infer = InferWhere;
  op.moves_data_only = true;
  return op;
}

}  // namespace plumb
