// SPDX-License-Identifier: Apache-2.0
#include "op/concat.h"

#include <fmt/core.h>

#include <cstring>

#include "op/core/strided.h"

namespace plumb {
namespace {

Result<Tensor> Join(const std::vector<BlobInfo>& inputs, const Shape& out, int axis) {
  PLUMB_ASSIGN_OR_RETURN(Tensor joined, Tensor::Create(inputs[0].dtype, out));
  const size_t size = DTypeSize(joined.dtype());
  char* dst = static_cast<char*>(joined.raw());
  for (int64_t row = 0; row < out.Count(0, axis); ++row) {
    for (const BlobInfo& in : inputs) {
      const size_t bytes = static_cast<size_t>(in.shape.CountFrom(axis)) * size;
      std::memcpy(dst, static_cast<const char*>(in.value.raw()) + static_cast<size_t>(row) * bytes, bytes);
      dst += bytes;
    }
  }
  return joined;
}

Status InferConcat(ShapeContext& context) {
  Shape out = context.shape(0);
  PLUMB_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(ParamOf<ConcatParam>(context.layer).axis, out.rank()));
  for (size_t i = 1; i < context.inputs.size(); ++i) {
    const Shape& next = context.inputs[i].shape;
    Shape expected = out;
    if (next.rank() == out.rank()) expected[axis] = next[axis];
    if (next != expected || context.inputs[i].dtype != context.inputs[0].dtype) {
      return Status::InvalidArgument(fmt::format("input {} is {} {}, which does not join {} {} along axis {}", i,
                                                 DTypeName(context.inputs[i].dtype), next.ToString(),
                                                 DTypeName(context.inputs[0].dtype), out.ToString(), axis));
    }
    out[axis] += next[axis];
  }
  context.SetAll(context.inputs[0].dtype, out);
  bool known = out.NumElements() <= kMaxHostValues;
  for (const BlobInfo& in : context.inputs) known = known && HasHostValue(in);
  if (known) {
    PLUMB_ASSIGN_OR_RETURN(context.outputs[0].value, Join(context.inputs, out, axis));
  }
  return Status::Ok();
}

}  // namespace

OpDef DefineConcat() {
  OpDef op;
  op.make_param = MakeParam<ConcatParam>;
  op.infer = InferConcat;
  op.moves_data_only = true;
  return op;
}

}  // namespace plumb
