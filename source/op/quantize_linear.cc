// SPDX-License-Identifier: Apache-2.0
#include "op/quantize_linear.h"

#include <fmt/core.h>

namespace plumb {
namespace {

Status CheckOperands(const std::vector<BlobInfo>& inputs) {
  if (!IsFloat(inputs[1].dtype)) {
    return Status::InvalidArgument(std::string("the scale must be a float, found ") + DTypeName(inputs[1].dtype));
  }
  if (inputs.size() < 3) return Status::Ok();
  if (IsFloat(inputs[2].dtype) || inputs[2].shape.NumElements() != inputs[1].shape.NumElements()) {
    return Status::InvalidArgument(fmt::format("the zero point must be integers, as many as scales {}, found {} {}",
                                               inputs[1].shape.ToString(), DTypeName(inputs[2].dtype),
                                               inputs[2].shape.ToString()));
  }
  return Status::Ok();
}

Status SetRange(const std::string& name, QuantShape* s) {
  const std::pair<const char*, std::pair<int64_t, int64_t>> ranges[] = {
      {"i8", {-128, 127}},      {"u8", {0, 255}},    {"i4", {-8, 7}},
      {"u4", {0, 15}},          {"i2", {-2, 1}},     {"u2", {0, 3}},
      {"i16", {-32768, 32767}}, {"u16", {0, 65535}}, {"i32", {INT32_MIN, INT32_MAX}}};
  for (const auto& [known, range] : ranges) {
    if (name != known) continue;
    s->low = range.first;
    s->high = range.second;
    return Status::Ok();
  }
  return Status::NotSupported(
      fmt::format("quantising to '{}' is not supported: only i2, u2, i4, u4, i8, u8, i16, u16 and i32 are", name));
}

Status InferQuantize(ShapeContext& context) {
  PLUMB_RETURN_IF_ERROR(InferFloatSameAsInput(context));
  PLUMB_RETURN_IF_ERROR(ResolveQuant(context.layer, context.inputs).status());
  context.SetAll(DType::kI64, context.shape(0));
  return Status::Ok();
}

Status InferDequantize(ShapeContext& context) {
  if (IsFloat(context.inputs[0].dtype)) {
    return Status::InvalidArgument(std::string("expects integers, found ") + DTypeName(context.inputs[0].dtype));
  }
  PLUMB_RETURN_IF_ERROR(ResolveQuant(context.layer, context.inputs).status());
  context.SetAll(context.inputs[1].dtype, context.shape(0));
  return Status::Ok();
}

}  // namespace

Result<QuantShape> ResolveQuant(const Layer& layer, const std::vector<BlobInfo>& inputs) {
  const bool quantize = layer.kind == OpKind::kPlumbQuantizeLinear;
  const int wanted = quantize ? ParamOf<QuantizeLinearParam>(layer).axis : ParamOf<DequantizeLinearParam>(layer).axis;
  const int block =
      quantize ? ParamOf<QuantizeLinearParam>(layer).block_size : ParamOf<DequantizeLinearParam>(layer).block_size;
  QuantShape s;
  PLUMB_RETURN_IF_ERROR(CheckOperands(inputs));
  if (quantize) PLUMB_RETURN_IF_ERROR(SetRange(ParamOf<QuantizeLinearParam>(layer).dtype, &s));
  const Shape &x = inputs[0].shape, &scale = inputs[1].shape;
  s.scales = scale.NumElements();
  if (block == 0 && s.scales == 1) return s;
  PLUMB_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(wanted, x.rank()));
  s.inner = x.CountFrom(axis + 1);
  s.size = x[axis];
  if (block == 0) {
    if (scale.rank() == 1 && s.scales == s.size) return s;
    return Status::InvalidArgument(fmt::format("expects one scale or {}, one per entry of axis {} of {}, found {}",
                                               s.size, axis, x.ToString(), scale.ToString()));
  }
  Shape expected = x;
  expected[axis] = block > 0 ? (s.size + block - 1) / block : 0;
  if (block < 0 || scale != expected) {
    return Status::InvalidArgument(fmt::format("block_size {} of {} expects scales {}, found {}", block, x.ToString(),
                                               expected.ToString(), scale.ToString()));
  }
  s.scales = expected[axis];
  s.block = block;
  s.blocked = true;
  return s;
}

OpDef DefinePlumbQuantizeLinear() {
  OpDef op;
  op.make_param = MakeParam<QuantizeLinearParam>;
  op.infer = InferQuantize;
  return op;
}

OpDef DefinePlumbDequantizeLinear() {
  OpDef op;
  op.make_param = MakeParam<DequantizeLinearParam>;
  op.infer = InferDequantize;
  return op;
}

}  // namespace plumb
