// SPDX-License-Identifier: Apache-2.0
// QuantizeLinear, DequantizeLinear and MatMulInteger are operators of the runtime. DynamicQuantizeLinear is a
// QuantizeLinear whose scale and zero point are computed in f32, which holds the whole numbers exactly. QLinearMatMul
// is an integer product (i32, exact), scaled in f32 as ONNX Runtime does. ConvInteger and QLinearConv set the windows
// of x side by side and multiply the filters with them; depthwise ones are exact in f32.
#include <fmt/core.h>

#include "format/onnx/map/convolve_by_product.h"
#include "format/onnx/map/product_steps.h"
#include "format/onnx/map/quantize_steps.h"
#include "op/activation.h"
#include "op/expand.h"
#include "op/matmul_integer.h"
#include "op/quantize_linear.h"
#include "op/reduce.h"
#include "op/round_float.h"

namespace plumb::onnx {

Result<Value> IntegerProduct(NodeContext& c, const Value& a, const Value& b, const Value& a_zero, const Value& b_zero) {
  auto p = std::make_shared<MatMulIntegerParam>();
  std::vector<Value> inputs = {a, b};
  p->has_a_zero_point = a_zero.present();
  p->has_b_zero_point = b_zero.present();
  if (a_zero.present()) inputs.push_back(a_zero);
  if (b_zero.present()) inputs.push_back(b_zero);
  return c.Emit(OpKind::kPlumbMatMulInteger, p, inputs);
}

Status MapConv(NodeContext& c);

namespace {

bool IsEightBits(int type) { return type == kTypeUint8 || type == kTypeInt8; }

Result<std::string> QuantizedDType(int type) {
  switch (type) {
    case kTypeUint8: return std::string("u8");
    case kTypeInt8: return std::string("i8");
    case kTypeUint16: return std::string("u16");
    case kTypeInt16: return std::string("i16");
    default: break;
  }
  if (const TinyType* tiny = FindTiny(type); tiny != nullptr && tiny->integer != nullptr)
    return std::string(tiny->integer);
  return Status::NotSupported("quantisation to " + TypeName(type));
}

// A scale or zero point of blocks along an axis, one number per element of x.
Result<Value> PerElement(NodeContext& c, const Value& x, const Value& coefficient, int64_t axis, int64_t block) {
  const Shape of_x = c.ShapeOf(x), given = c.ShapeOf(coefficient);
  PLUMB_ASSIGN_OR_RETURN(const int at, AxisOf(axis, of_x.rank()));
  if (given.rank() != of_x.rank() || given[at] != (of_x[at] + block - 1) / block)
    return Status::CorruptModel(
        fmt::format("block_size {} of {} with scales {}", block, of_x.ToString(), given.ToString()));
  PLUMB_ASSIGN_OR_RETURN(const Value apart, c.Unsqueeze(coefficient, at + 1));
  std::vector<int64_t> dims = c.ShapeOf(apart).dims();
  dims[static_cast<size_t>(at) + 1] = block;
  auto repeat = std::make_shared<ExpandParam>();
  PLUMB_ASSIGN_OR_RETURN(repeat->shape, Narrow(dims));
  PLUMB_ASSIGN_OR_RETURN(const Value repeated, c.Emit(OpKind::kExpand, repeat, {apart}));
  dims = given.dims();
  dims[static_cast<size_t>(at)] *= block;
  PLUMB_ASSIGN_OR_RETURN(const Value all, c.Reshape(repeated, dims));
  return dims[static_cast<size_t>(at)] == of_x[at] ? Result<Value>(all) : c.Cut(all, at, 0, of_x[at]);
}

// A scale or zero point as a blob that broadcasts along the axis of x.
Result<Value> Along(NodeContext& c, const Value& x, const Value& coefficient, int64_t axis) {
  const Shape& shape = c.ShapeOf(coefficient);
  const int rank = c.ShapeOf(x).rank();
  if (shape.NumElements() == 1) return c.Reshape(coefficient, {});
  if (shape.rank() != 1)
    return Status::NotSupported(fmt::format("blocked quantisation (a scale of shape {})", shape.ToString()));
  PLUMB_ASSIGN_OR_RETURN(const int at, AxisOf(axis, rank));
  std::vector<int64_t> dims(static_cast<size_t>(rank), 1);
  dims[static_cast<size_t>(at)] = shape[0];
  return c.Reshape(coefficient, dims);
}

// x: float; the result is carried as i64.
Result<Value> Quantize(NodeContext& c, const Value& x, const Value& scale, const Value& zero_point, int type,
                       int64_t axis, int64_t block_size = 0) {
  auto p = std::make_shared<QuantizeLinearParam>();
  PLUMB_ASSIGN_OR_RETURN(p->dtype, QuantizedDType(type));
  PLUMB_ASSIGN_OR_RETURN(const std::vector<int> numbers, Narrow({axis, block_size}));
  p->axis = numbers[0];
  p->block_size = numbers[1];
  std::vector<Value> inputs = {x, scale};
  if (zero_point.present()) inputs.push_back(zero_point);
  PLUMB_ASSIGN_OR_RETURN(Value y, c.Emit(OpKind::kPlumbQuantizeLinear, p, inputs));
  y.type = type;
  return y;
}

Result<Value> Shifted(NodeContext& c, const Value& x, const Value& zero_point, int64_t axis) {
  if (!zero_point.present()) return x;
  PLUMB_ASSIGN_OR_RETURN(const Value zero, Along(c, x, zero_point, axis));
  PLUMB_ASSIGN_OR_RETURN(Value y, c.Emit(OpKind::kSub, nullptr, {x, zero}));
  y.type = x.type;
  return y;
}

Value OptionalIn(NodeContext& c, size_t i) { return c.Has(i) ? c.In(i) : Value(); }

bool IsDepthwiseFilter(const Shape& filter) {
  // The sums of as many products of 9-bit numbers are below 2^24 in any order, so f32 holds them exactly.
  constexpr int64_t kExactTaps = 256;
  return filter.rank() >= 3 && filter.rank() <= 4 && filter[1] == 1 && filter.CountFrom(1) <= kExactTaps;
}

// A depthwise convolution runs in f32, where every device has a kernel for it (and no other algorithm than the sum).
Result<Value> DepthwiseInFloats(NodeContext& c, const Value& x, const Value& weights) {
  PLUMB_ASSIGN_OR_RETURN(const Value real, c.CastTo(x, DType::kF32));
  PLUMB_ASSIGN_OR_RETURN(const Value taps, c.CastTo(weights, DType::kF32));
  PLUMB_ASSIGN_OR_RETURN(const Value sums, c.Through(MapConv, {real, taps}));
  PLUMB_ASSIGN_OR_RETURN(const Value whole, c.Emit(OpKind::kPlumbRound, nullptr, {sums}));  // for the verdict: exact
  return c.CastTo(whole, DType::kI32);
}

// The i32 sums of a convolution of integers. The filter's zero point may have one entry per output channel.
Result<Value> IntegerConvolution(NodeContext& c, const Value& x, const Value& x_zero, const Value& filter,
                                 const Value& filter_zero) {
  PLUMB_ASSIGN_OR_RETURN(const Value centred, Shifted(c, x, x_zero, 1));
  PLUMB_ASSIGN_OR_RETURN(const Value weights, Shifted(c, filter, filter_zero, 0));
  const bool eight_bits = IsEightBits(x.type) && IsEightBits(filter.type);
  if (eight_bits && IsDepthwiseFilter(c.ShapeOf(weights)) && c.Known(weights) != nullptr)
    return DepthwiseInFloats(c, centred, weights);
  return ConvolveByProduct(c, centred, weights, [&c](const Value& filters, const Value& windows) {
    return IntegerProduct(c, filters, windows, Value(), Value());
  });
}

// Integer sums times the scales of what was multiplied, quantised anew.
Result<Value> Requantize(NodeContext& c, const Value& sums, const Value& scale, const Value& y_scale,
                         const Value& y_zero) {
  PLUMB_ASSIGN_OR_RETURN(const Value single, c.CastTo(sums, DType::kF32));
  PLUMB_ASSIGN_OR_RETURN(const Value real, c.Binary(OpKind::kMul, single, scale));
  return Quantize(c, real, y_scale, y_zero, y_zero.type, -1);
}

// The scale of floats that are quantised to floats.
Result<Value> FloatScale(NodeContext& c) {
  const int64_t block = c.Int("block_size", 0);
  return block > 0 ? PerElement(c, c.In(0), c.In(1), c.Int("axis", 1), block)
                   : Along(c, c.In(0), c.In(1), c.Int("axis", 1));
}

// Zero points of floats are 0; one that is not known now is counted, so that it may be.
Result<Value> FloatZero(NodeContext& c, const Value& x, OpKind kind) {
  if (!c.Has(2)) return x;
  const Tensor* known = c.Known(2);
  for (int64_t i = 0; known != nullptr && i < known->NumElements(); ++i) {
    if (known->ValueAt(i) != 0)
      return Status::CorruptModel(fmt::format("the zero point of {} is not 0", TypeName(c.In(2).type)));
  }
  if (known != nullptr) return x;
  PLUMB_ASSIGN_OR_RETURN(const Value zero, Along(c, x, c.In(2), c.Int("axis", 1)));
  return c.Emit(kind, nullptr, {x, zero});
}

// x / scale, rounded to the format.
Status QuantizeToFloat(NodeContext& c, const TinyType& tiny) {
  PLUMB_ASSIGN_OR_RETURN(const Value scale, FloatScale(c));
  PLUMB_ASSIGN_OR_RETURN(const Value x, c.CastTo(c.In(0), DType::kF32));
  PLUMB_ASSIGN_OR_RETURN(const Value quotient, c.Emit(OpKind::kDiv, nullptr, {x, scale}));
  PLUMB_ASSIGN_OR_RETURN(const Value shifted, FloatZero(c, quotient, OpKind::kAdd));
  auto param = std::make_shared<RoundFloatParam>();
  param->format = tiny.small_float->name;
  param->saturate = c.Int("saturate", 1) != 0;
  PLUMB_ASSIGN_OR_RETURN(const Value y, c.Emit(OpKind::kPlumbRoundFloat, param, {shifted}));
  c.Set(0, y, tiny.type);
  return Status::Ok();
}

int DequantizedType(NodeContext& c) {
  const auto given = static_cast<int>(c.Int("output_dtype", 0));
  return given != 0 ? given : c.In(1).type;
}

Status DequantizeFloat(NodeContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const Value scale, FloatScale(c));
  PLUMB_ASSIGN_OR_RETURN(const Value x, FloatZero(c, c.In(0), OpKind::kSub));
  PLUMB_ASSIGN_OR_RETURN(const Value y, c.Emit(OpKind::kMul, nullptr, {x, scale}));
  c.Set(0, y, DequantizedType(c));
  return Status::Ok();
}

}  // namespace

// One layer each: op/quantize_linear.h.
Status MapQuantizeLinear(NodeContext& c) {
  int type = c.Has(2) ? c.In(2).type : static_cast<int>(c.Int("output_dtype", kTypeUint8));
  if (type == 0) type = kTypeUint8;
  const TinyType* tiny = FindTiny(type);
  if (tiny != nullptr && tiny->small_float != nullptr) return QuantizeToFloat(c, *tiny);
  PLUMB_ASSIGN_OR_RETURN(const Value x, c.CastTo(c.In(0), c.DTypeOf(1)));  // i32 is allowed
  PLUMB_ASSIGN_OR_RETURN(const Value y, Quantize(c, x, c.In(1), c.Has(2) ? c.In(2) : Value(), type, c.Int("axis", 1),
                                                 c.Int("block_size", 0)));
  c.Set(0, y, type);
  return Status::Ok();
}

Status MapDequantizeLinear(NodeContext& c) {
  if (const TinyType* tiny = FindTiny(c.In(0).type); tiny != nullptr && tiny->small_float != nullptr)
    return DequantizeFloat(c);
  auto p = std::make_shared<DequantizeLinearParam>();
  PLUMB_ASSIGN_OR_RETURN(const std::vector<int> numbers, Narrow({c.Int("axis", 1), c.Int("block_size", 0)}));
  p->axis = numbers[0];
  p->block_size = numbers[1];
  std::vector<Value> inputs = {c.In(0), c.In(1)};
  if (c.Has(2)) inputs.push_back(c.In(2));
  PLUMB_ASSIGN_OR_RETURN(const Value y, c.Emit(OpKind::kPlumbDequantizeLinear, p, inputs));
  c.Set(0, y, DequantizedType(c));
  return Status::Ok();
}

// scale = (max(x, 0) - min(x, 0)) / 255, zero point = round(saturate(-min / scale)).
Result<DynamicQuantized> QuantizeDynamically(NodeContext& c, const Value& x) {
  const auto extreme = [&](OpKind reduce, OpKind with_zero) -> Result<Value> {
    PLUMB_ASSIGN_OR_RETURN(const Value y, c.Emit(reduce, std::make_shared<ReduceParam>(), {x}));
    return c.Emit(with_zero, nullptr, {y, c.ConstFloat(0)});
  };
  PLUMB_ASSIGN_OR_RETURN(const Value high, extreme(OpKind::kReduceMax, OpKind::kMaximum));
  PLUMB_ASSIGN_OR_RETURN(const Value low, extreme(OpKind::kReduceMin, OpKind::kMinimum));
  PLUMB_ASSIGN_OR_RETURN(const Value range, c.Binary(OpKind::kSub, high, low));
  PLUMB_ASSIGN_OR_RETURN(const Value scale, c.Binary(OpKind::kDiv, range, c.ConstFloat(255)));
  PLUMB_ASSIGN_OR_RETURN(const Value ratio, c.Binary(OpKind::kDiv, low, scale));
  PLUMB_ASSIGN_OR_RETURN(const Value negated, c.Emit(OpKind::kNeg, nullptr, {ratio}));
  auto clip = std::make_shared<ClipParam>();
  clip->max = 255;
  PLUMB_ASSIGN_OR_RETURN(const Value clipped, c.Emit(OpKind::kClip, clip, {negated}));
  PLUMB_ASSIGN_OR_RETURN(const Value rounded, c.Emit(OpKind::kPlumbRound, nullptr, {clipped}));
  PLUMB_ASSIGN_OR_RETURN(const Value zero, c.CastTo(rounded, DType::kI64));
  PLUMB_ASSIGN_OR_RETURN(const Value y, Quantize(c, x, scale, zero, kTypeUint8, 0));
  return DynamicQuantized{y, scale, zero};
}

Status MapDynamicQuantizeLinear(NodeContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const DynamicQuantized x, QuantizeDynamically(c, c.In(0)));
  c.Set(0, x.q, kTypeUint8);
  c.Set(1, x.scale, kTypeFloat);
  c.Set(2, x.zero_point, kTypeUint8);
  return Status::Ok();
}

Status MapMatMulInteger(NodeContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const Value y, IntegerProduct(c, c.In(0), c.In(1), OptionalIn(c, 2), OptionalIn(c, 3)));
  c.Set(0, y, kTypeInt32);
  return Status::Ok();
}

// a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero: the integer product, scaled once.
Status MapQLinearMatMul(NodeContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const Value product, IntegerProduct(c, c.In(0), c.In(3), c.In(2), c.In(5)));
  PLUMB_ASSIGN_OR_RETURN(const Value a_scale, Along(c, product, c.In(1), -2));
  PLUMB_ASSIGN_OR_RETURN(const Value b_scale, Along(c, product, c.In(4), -1));
  PLUMB_ASSIGN_OR_RETURN(const Value scale, c.Binary(OpKind::kMul, a_scale, b_scale));
  PLUMB_ASSIGN_OR_RETURN(const Value y, Requantize(c, product, scale, c.In(6), c.In(7)));
  c.Set(0, y, c.In(7).type);
  return Status::Ok();
}

Status MapConvInteger(NodeContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const Value y, IntegerConvolution(c, c.In(0), OptionalIn(c, 2), c.In(1), OptionalIn(c, 3)));
  c.Set(0, y, kTypeInt32);
  return Status::Ok();
}

// x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, bias (i32, in units of x_scale w_scale).
Status MapQLinearConv(NodeContext& c) {
  PLUMB_ASSIGN_OR_RETURN(Value sums, IntegerConvolution(c, c.In(0), c.In(2), c.In(3), c.In(5)));
  if (c.Has(8)) {
    PLUMB_ASSIGN_OR_RETURN(const Value bias, Along(c, sums, c.In(8), 1));
    PLUMB_ASSIGN_OR_RETURN(sums, c.Emit(OpKind::kAdd, nullptr, {sums, bias}));
  }
  PLUMB_ASSIGN_OR_RETURN(const Value x_scale, c.Reshape(c.In(1), {}));
  PLUMB_ASSIGN_OR_RETURN(const Value w_scale, Along(c, sums, c.In(4), 1));
  PLUMB_ASSIGN_OR_RETURN(const Value scale, c.Binary(OpKind::kMul, x_scale, w_scale));
  PLUMB_ASSIGN_OR_RETURN(const Value y, Requantize(c, sums, scale, c.In(6), c.In(7)));
  c.Set(0, y, c.In(7).type);
  return Status::Ok();
}

}  // namespace plumb::onnx
