// QuantizeLinear, DequantizeLinear and MatMulInteger are operators of the runtime. DynamicQuantizeLinear and QLinearMatMul
// are spelled out in floats: x / scale, rounded to even, shifted, saturated. All whole numbers involved are below 2^24, so
// f32 holds them exactly; integer products are summed in f64, which is exact too.
#include "format/onnx/node_context.h"
#include "op/activation.h"
#include "op/matmul_integer.h"
#include "op/quantize_linear.h"
#include "op/reduce.h"

namespace plumb::onnx {
namespace {

struct Limits {
  float low, high;
};

Result<Limits> LimitsOf(int type) {
  switch (type) {
    case kTypeUint8: return Limits{0, 255};
    case kTypeInt8: return Limits{-128, 127};
    case kTypeUint16: return Limits{0, 65535};
    case kTypeInt16: return Limits{-32768, 32767};
    default: return Status::NotSupported("quantisation to " + TypeName(type));
  }
}

// A scale or zero point as a blob that broadcasts along the axis of x.
Result<Value> Along(NodeContext& c, const Value& x, const Value& coefficient, int64_t axis) {
  const Shape& shape = c.ShapeOf(coefficient);
  const int rank = c.ShapeOf(x).rank();
  if (shape.NumElements() == 1) return c.Reshape(coefficient, {});
  if (shape.rank() != 1) return Status::NotSupported("blocked quantisation (a scale of shape " + shape.ToString() + ")");
  PLUMB_ASSIGN_OR_RETURN(const int at, NormalizeAxis(static_cast<int>(axis), rank));
  std::vector<int64_t> dims(static_cast<size_t>(rank), 1);
  dims[static_cast<size_t>(at)] = shape[0];
  return c.Reshape(coefficient, dims);
}

// x: float; the result is carried as i64.
Result<Value> Quantize(NodeContext& c, const Value& x, const Value& scale, const Value& zero_point, int type, int64_t axis) {
  PLUMB_ASSIGN_OR_RETURN(const Limits limits, LimitsOf(type));
  PLUMB_ASSIGN_OR_RETURN(const Value s, Along(c, x, scale, axis));
  PLUMB_ASSIGN_OR_RETURN(Value y, c.Binary(OpKind::kDiv, x, s));
  PLUMB_ASSIGN_OR_RETURN(y, c.Emit(OpKind::kPlumbRound, nullptr, {y}));
  if (zero_point.present()) {
    PLUMB_ASSIGN_OR_RETURN(const Value wide, c.CastTo(zero_point, c.builder().Info(y).dtype));
    PLUMB_ASSIGN_OR_RETURN(const Value zero, Along(c, x, wide, axis));
    PLUMB_ASSIGN_OR_RETURN(y, c.Binary(OpKind::kAdd, y, zero));
  }
  auto clip = std::make_shared<ClipParam>();
  clip->min = limits.low;
  clip->max = limits.high;
  PLUMB_ASSIGN_OR_RETURN(y, c.Emit(OpKind::kClip, clip, {y}));
  PLUMB_ASSIGN_OR_RETURN(y, c.CastTo(y, DType::kI64));
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

// The product of integers, as f64. A zero point per row of a (per column of b) has one entry per row (column).
Result<Value> IntegerProduct(NodeContext& c, const Value& a, const Value& a_zero, const Value& b, const Value& b_zero) {
  PLUMB_ASSIGN_OR_RETURN(const Value left, Shifted(c, a, a_zero, -2));
  PLUMB_ASSIGN_OR_RETURN(const Value right, Shifted(c, b, b_zero, -1));
  PLUMB_ASSIGN_OR_RETURN(const Value x, c.CastTo(left, DType::kF64));
  PLUMB_ASSIGN_OR_RETURN(const Value y, c.CastTo(right, DType::kF64));
  return c.Emit(OpKind::kMatMul, nullptr, {x, y});
}

}  // namespace

// One layer each: op/quantize_linear.h.
Status MapQuantizeLinear(NodeContext& c) {
  int type = c.Has(2) ? c.In(2).type : static_cast<int>(c.Int("output_dtype", kTypeUint8));
  if (type == 0) type = kTypeUint8;
  auto p = std::make_shared<QuantizeLinearParam>();
  PLUMB_RETURN_IF_ERROR(LimitsOf(type).status());
  p->dtype = type == kTypeUint8 ? "u8" : type == kTypeInt8 ? "i8" : type == kTypeUint16 ? "u16" : "i16";
  PLUMB_ASSIGN_OR_RETURN(const std::vector<int> numbers, Narrow({c.Int("axis", 1), c.Int("block_size", 0)}));
  p->axis = numbers[0];
  p->block_size = numbers[1];
  PLUMB_ASSIGN_OR_RETURN(const Value x, c.CastTo(c.In(0), c.DTypeOf(1)));  // i32 is allowed
  std::vector<Value> inputs = {x, c.In(1)};
  if (c.Has(2)) inputs.push_back(c.In(2));
  PLUMB_ASSIGN_OR_RETURN(const Value y, c.Emit(OpKind::kPlumbQuantizeLinear, p, inputs));
  c.Set(0, y, type);
  return Status::Ok();
}

Status MapDequantizeLinear(NodeContext& c) {
  auto p = std::make_shared<DequantizeLinearParam>();
  PLUMB_ASSIGN_OR_RETURN(const std::vector<int> numbers, Narrow({c.Int("axis", 1), c.Int("block_size", 0)}));
  p->axis = numbers[0];
  p->block_size = numbers[1];
  std::vector<Value> inputs = {c.In(0), c.In(1)};
  if (c.Has(2)) inputs.push_back(c.In(2));
  PLUMB_ASSIGN_OR_RETURN(const Value y, c.Emit(OpKind::kPlumbDequantizeLinear, p, inputs));
  c.Set(0, y, c.In(1).type);
  return Status::Ok();
}

// scale = (max(x, 0) - min(x, 0)) / 255, zero point = round(saturate(-min / scale)).
Status MapDynamicQuantizeLinear(NodeContext& c) {
  const auto extreme = [&](OpKind reduce, OpKind with_zero) -> Result<Value> {
    PLUMB_ASSIGN_OR_RETURN(const Value y, c.Emit(reduce, std::make_shared<ReduceParam>(), {c.In(0)}));
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
  PLUMB_ASSIGN_OR_RETURN(const Value y, Quantize(c, c.In(0), scale, zero, kTypeUint8, 0));
  c.Set(0, y, kTypeUint8);
  c.Set(1, scale, kTypeFloat);
  c.Set(2, zero, kTypeUint8);
  return Status::Ok();
}

Status MapMatMulInteger(NodeContext& c) {
  auto p = std::make_shared<MatMulIntegerParam>();
  std::vector<Value> inputs = {c.In(0), c.In(1)};
  p->has_a_zero_point = c.Has(2);
  p->has_b_zero_point = c.Has(3);
  for (size_t i = 2; i < 4; ++i) {
    if (c.Has(i)) inputs.push_back(c.In(i));
  }
  PLUMB_ASSIGN_OR_RETURN(const Value y, c.Emit(OpKind::kPlumbMatMulInteger, p, inputs));
  c.Set(0, y, kTypeInt32);
  return Status::Ok();
}

// a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero: the integer product, scaled once.
Status MapQLinearMatMul(NodeContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const Value product, IntegerProduct(c, c.In(0), c.In(2), c.In(3), c.In(5)));
  PLUMB_ASSIGN_OR_RETURN(const Value a_scale, Along(c, product, c.In(1), -2));
  PLUMB_ASSIGN_OR_RETURN(const Value b_scale, Along(c, product, c.In(4), -1));
  PLUMB_ASSIGN_OR_RETURN(const Value scale, c.Binary(OpKind::kMul, a_scale, b_scale));
  PLUMB_ASSIGN_OR_RETURN(const Value wide_scale, c.CastTo(scale, DType::kF64));
  PLUMB_ASSIGN_OR_RETURN(const Value real, c.Binary(OpKind::kMul, product, wide_scale));
  PLUMB_ASSIGN_OR_RETURN(const Value single, c.CastTo(real, DType::kF32));
  PLUMB_ASSIGN_OR_RETURN(const Value y, Quantize(c, single, c.In(6), c.In(7), c.In(7).type, -1));
  c.Set(0, y, c.In(7).type);
  return Status::Ok();
}

}  // namespace plumb::onnx
