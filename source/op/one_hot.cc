// SPDX-License-Identifier: Apache-2.0
#include "op/one_hot.h"

#include <fmt/core.h>

#include <cstring>

#include "op/core/strided.h"

namespace plumb {
namespace {

Result<int64_t> DepthOf(const Layer& layer, const std::vector<BlobInfo>& inputs) {
  if (layer.kind == OpKind::kOneHot) return int64_t{ParamOf<OneHotParam>(layer).depth};
  const BlobInfo& depth = inputs[1];
  if (depth.value.empty()) return Status::NotSupported("the depth is not known before the network runs");
  if (depth.shape.NumElements() == 1) {
    PLUMB_ASSIGN_OR_RETURN(const Tensor whole, depth.value.ConvertedTo(DType::kI64));  // saturates
    return *whole.data<int64_t>();
  }
  return Status::InvalidArgument("the depth must be one number, found " + depth.shape.ToString());
}

Result<Tensor> EvaluateOneHot(const OneHotShape& s, const Tensor& indices, const Tensor& values) {
  PLUMB_ASSIGN_OR_RETURN(const Tensor wide, indices.ConvertedTo(DType::kI64));
  PLUMB_ASSIGN_OR_RETURN(Tensor y, Tensor::Create(s.dtype, s.out));
  const size_t size = DTypeSize(s.dtype);
  for (int64_t i = 0; i < y.NumElements(); ++i) {
    int64_t index = wide.data<int64_t>()[i / (s.depth * s.inner) * s.inner + i % s.inner];
    if (index < 0) index += s.depth;
    const size_t on = i / s.inner % s.depth == index ? 1 : 0;
    std::memcpy(static_cast<char*>(y.raw()) + static_cast<size_t>(i) * size,
                static_cast<const char*>(values.raw()) + on * size, size);
  }
  return y;
}

Status InferOneHot(ShapeContext& context) {
  PLUMB_ASSIGN_OR_RETURN(const OneHotShape s, ResolveOneHot(context.layer, context.inputs));
  context.SetAll(s.dtype, s.out);
  if (context.layer.kind == OpKind::kOneHot || !HasHostValue(context.inputs[0]) || !HasHostValue(context.inputs[2]))
    return Status::Ok();
  if (s.out.NumElements() > kMaxHostValues) return Status::Ok();
  PLUMB_ASSIGN_OR_RETURN(context.outputs[0].value, EvaluateOneHot(s, context.inputs[0].value, context.inputs[2].value));
  return Status::Ok();
}

}  // namespace

Result<OneHotShape> ResolveOneHot(const Layer& layer, const std::vector<BlobInfo>& inputs) {
  OneHotShape s;
  const bool tnn = layer.kind == OpKind::kOneHot;
  const Shape& in = inputs[0].shape;
  const int wanted = tnn ? ParamOf<OneHotParam>(layer).axis : ParamOf<PlumbOneHotParam>(layer).axis;
  PLUMB_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(wanted, in.rank() + 1));
  PLUMB_ASSIGN_OR_RETURN(s.depth, DepthOf(layer, inputs));
  if (s.depth <= 0) return Status::InvalidArgument(fmt::format("depth {} is not positive", s.depth));
  if (!tnn) {
    s.dtype = inputs[2].dtype;
    if (inputs[2].shape.NumElements() != 2) {
      return Status::InvalidArgument("the values must be off and on, found " + inputs[2].shape.ToString());
    }
  }
  s.out = in;
  s.out.dims().insert(s.out.dims().begin() + axis, s.depth);
  s.inner = in.CountFrom(axis);
  PLUMB_RETURN_IF_ERROR(s.out.Validate());
  return s;
}

OpDef DefineOneHot() {
  OpDef op;
  op.make_param = MakeParam<OneHotParam>;
  op.infer = InferOneHot;
  return op;
}

OpDef DefinePlumbOneHot() {
  OpDef op;
  op.make_param = MakeParam<PlumbOneHotParam>;
  op.infer = InferOneHot;
  return op;
}

}  // namespace plumb
