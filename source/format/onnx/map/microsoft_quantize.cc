// SPDX-License-Identifier: Apache-2.0
// com.microsoft's QLinear operators: integers become reals, the float operator runs on them, the result becomes
// integers. ONNX Runtime computes most of them through tables or with the scales drawn together: the same but at ties.
#include "format/onnx/map/quantize_steps.h"
#include "format/onnx/node_context.h"
#include "op/concat.h"
#include "op/quantize_linear.h"
#include "op/reduce.h"

namespace plumb::onnx {

Status MapAveragePool(NodeContext& c);
Status MapDequantizeLinear(NodeContext& c);
Status MapGlobalAveragePool(NodeContext& c);
Status MapLeakyRelu(NodeContext& c);
Status MapQuantizeLinear(NodeContext& c);
Status MapSoftmax(NodeContext& c);

Value Given(NodeContext& c, size_t i) { return c.Has(i) ? c.In(i) : Value(); }

Result<Value> Dequantized(NodeContext& c, const Value& q, const Value& scale, const Value& zero_point) {
  std::vector<Value> inputs = {q, scale};
  if (zero_point.present()) inputs.push_back(zero_point);
  PLUMB_ASSIGN_OR_RETURN(Value x, c.Emit(OpKind::kPlumbDequantizeLinear, nullptr, inputs));
  x.type = scale.type;
  return x;
}

Result<Value> Quantized(NodeContext& c, const Value& x, const Value& scale, const Value& zero_point, int type) {
  if (type != kTypeUint8 && type != kTypeInt8) return Status::NotSupported("quantisation to " + TypeName(type));
  auto param = std::make_shared<QuantizeLinearParam>();
  param->dtype = type == kTypeUint8 ? "u8" : "i8";
  std::vector<Value> inputs = {x, scale};
  if (zero_point.present()) inputs.push_back(zero_point);
  PLUMB_ASSIGN_OR_RETURN(Value q, c.Emit(OpKind::kPlumbQuantizeLinear, param, inputs));
  q.type = type;
  return q;
}

namespace {

// Inputs at, at + 1 and at + 2 are integers, their scale and their zero point.
Result<Value> Real(NodeContext& c, size_t at) { return Dequantized(c, c.In(at), c.In(at + 1), Given(c, at + 2)); }

Status SetQuantized(NodeContext& c, const Value& y, size_t scale, int type) {
  PLUMB_ASSIGN_OR_RETURN(const Value q, Quantized(c, y, c.In(scale), Given(c, scale + 1), type));
  c.Set(0, q, type);
  return Status::Ok();
}

// x, x_scale, x_zero_point, y_scale, y_zero_point.
template <class Operator>
Status OfOne(NodeContext& c, Operator op) {
  PLUMB_ASSIGN_OR_RETURN(const Value x, Real(c, 0));
  PLUMB_ASSIGN_OR_RETURN(const Value y, op(x));
  return SetQuantized(c, y, 3, c.In(0).type);
}

Status OfTwo(NodeContext& c, OpKind kind) {
  PLUMB_ASSIGN_OR_RETURN(const Value a, Real(c, 0));
  PLUMB_ASSIGN_OR_RETURN(const Value b, Real(c, 3));
  PLUMB_ASSIGN_OR_RETURN(const Value y, c.Binary(kind, a, b));
  return SetQuantized(c, y, 6, c.In(0).type);
}

// A pool of channels that come last: they are moved in front and back.
Result<Value> ChannelsFirst(NodeContext& c, const Value& x, Status (*pool)(NodeContext& c)) {
  if (c.Int("channels_last", 0) == 0) return c.Through(pool, {x});
  const int rank = c.ShapeOf(x).rank();
  if (rank < 3) return Status::CorruptModel("the input is " + c.ShapeOf(x).ToString());
  std::vector<int> there = {0, rank - 1}, back = {0};
  for (int i = 1; i + 1 < rank; ++i) there.push_back(i);
  for (int i = 2; i < rank; ++i) back.push_back(i);
  back.push_back(1);
  PLUMB_ASSIGN_OR_RETURN(const Value moved, c.Transpose(x, there));
  PLUMB_ASSIGN_OR_RETURN(const Value y, c.Through(pool, {moved}));
  return c.Transpose(y, back);
}

}  // namespace

// 16-bit integers came to ONNX's own operators later; else they are the same.
Status MapMicrosoftQuantizeLinear(NodeContext& c) { return MapQuantizeLinear(c); }
Status MapMicrosoftDequantizeLinear(NodeContext& c) { return MapDequantizeLinear(c); }

Status MapMicrosoftQLinearAdd(NodeContext& c) { return OfTwo(c, OpKind::kAdd); }
Status MapMicrosoftQLinearMul(NodeContext& c) { return OfTwo(c, OpKind::kMul); }

// condition, x, x_scale, x_zero_point, y, y_scale, y_zero_point, z_scale, z_zero_point.
Status MapMicrosoftQLinearWhere(NodeContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const Value x, Real(c, 1));
  PLUMB_ASSIGN_OR_RETURN(const Value y, Real(c, 4));
  PLUMB_ASSIGN_OR_RETURN(const Value z, c.Select(c.In(0), x, y));
  return SetQuantized(c, z, 7, c.In(1).type);
}

// y_scale, y_zero_point, then three inputs for each piece.
Status MapMicrosoftQLinearConcat(NodeContext& c) {
  if (c.NumInputs() < 5 || c.NumInputs() % 3 != 2)
    return Status::CorruptModel("it takes 2 inputs and 3 for each piece, found " + std::to_string(c.NumInputs()));
  PLUMB_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(static_cast<int>(c.Int("axis", 0)), c.Rank(2)));
  std::vector<Value> pieces;
  for (size_t i = 2; i < c.NumInputs(); i += 3) {
    PLUMB_ASSIGN_OR_RETURN(const Value piece, Real(c, i));
    pieces.push_back(piece);
  }
  PLUMB_ASSIGN_OR_RETURN(const Value y, c.Join(pieces, axis));
  return SetQuantized(c, y, 0, c.In(1).type);
}

Status MapMicrosoftQLinearAveragePool(NodeContext& c) {
  return OfOne(c, [&c](const Value& x) { return ChannelsFirst(c, x, MapAveragePool); });
}

Status MapMicrosoftQLinearGlobalAveragePool(NodeContext& c) {
  return OfOne(c, [&c](const Value& x) { return ChannelsFirst(c, x, MapGlobalAveragePool); });
}

Status MapMicrosoftQLinearReduceMean(NodeContext& c) {
  auto param = std::make_shared<ReduceParam>();
  param->keep_dims = c.Int("keepdims", 1) != 0;
  PLUMB_ASSIGN_OR_RETURN(param->axes, Narrow(c.IntList("axes")));
  for (int i = 0; i < c.Rank(0) && !c.HasAttribute("axes"); ++i) param->axes.push_back(i);
  return OfOne(c, [&](const Value& x) { return c.Emit(OpKind::kReduceMean, param, {x}); });
}

// `opset` says which opset's Softmax it was.
Status MapMicrosoftQLinearSoftmax(NodeContext& c) {
  const auto opset = static_cast<int>(c.Int("opset", 13));
  return OfOne(c, [&](const Value& x) { return c.Through(MapSoftmax, {x}, opset); });
}

Status MapMicrosoftQLinearSigmoid(NodeContext& c) {
  return OfOne(c, [&c](const Value& x) { return c.Emit(OpKind::kSigmoid, nullptr, {x}); });
}

Status MapMicrosoftQLinearLeakyRelu(NodeContext& c) {
  return OfOne(c, [&c](const Value& x) { return c.Through(MapLeakyRelu, {x}); });
}

}  // namespace plumb::onnx
