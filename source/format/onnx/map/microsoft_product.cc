// SPDX-License-Identifier: Apache-2.0
// com.microsoft's products of integers whose sums are scaled: QGemm, MatMulIntegerToFloat, and DynamicQuantizeMatMul,
// which quantises its first operand as it comes.
#include <fmt/core.h>

#include "format/onnx/map/product_steps.h"
#include "format/onnx/map/quantize_steps.h"

namespace plumb::onnx {
namespace {

// sums * (a_scale * b_scale): one number each, one per row of a (as a column), one per column of b.
Result<Value> ScaledSums(NodeContext& c, const Value& sums, const Value& a_scale, const Value& b_scale, float alpha) {
  PLUMB_ASSIGN_OR_RETURN(const Value single, c.CastTo(sums, DType::kF32));
  PLUMB_ASSIGN_OR_RETURN(Value scale, c.Binary(OpKind::kMul, a_scale, b_scale));
  if (alpha != 1) {
    PLUMB_ASSIGN_OR_RETURN(scale, c.Binary(OpKind::kMul, scale, c.ConstFloat(alpha)));
  }
  return c.Binary(OpKind::kMul, single, scale);
}

Result<Value> Single(NodeContext& c, const Value& number, const char* what) {
  if (c.ShapeOf(number).NumElements() == 1) return c.Reshape(number, {});
  return Status::NotSupported(fmt::format("{} must be one number, found {}", what, c.ShapeOf(number).ToString()));
}

Result<Value> PlusBiasOf(NodeContext& c, const Value& y, size_t bias) {
  return c.Has(bias) ? c.Binary(OpKind::kAdd, y, c.In(bias)) : Result<Value>(y);
}

Result<Value> TransposedIf(NodeContext& c, size_t input, const char* attribute) {
  if (c.Int(attribute, 0) == 0) return c.In(input);
  PLUMB_ASSIGN_OR_RETURN(Value turned, c.Transpose(c.In(input), {1, 0}));
  turned.type = c.In(input).type;
  return turned;
}

}  // namespace

// a, a_scale, a_zero_point, b, b_scale, b_zero_point[, bias of i32, y_scale, y_zero_point]
Status MapMicrosoftQGemm(NodeContext& c) {
  if (c.Rank(0) != 2 || c.Rank(3) != 2)
    return Status::CorruptModel(
        fmt::format("expects matrices, found {} and {}", c.ShapeOf(0).ToString(), c.ShapeOf(3).ToString()));
  PLUMB_ASSIGN_OR_RETURN(const Value a, TransposedIf(c, 0, "transA"));
  PLUMB_ASSIGN_OR_RETURN(const Value b, TransposedIf(c, 3, "transB"));
  PLUMB_ASSIGN_OR_RETURN(Value sums, IntegerProduct(c, a, b, c.In(2), c.In(5)));
  if (c.Has(6)) {
    PLUMB_ASSIGN_OR_RETURN(sums, c.Emit(OpKind::kAdd, nullptr, {sums, c.In(6)}));
  }
  PLUMB_ASSIGN_OR_RETURN(const Value a_scale, Single(c, c.In(1), "a_scale"));
  PLUMB_ASSIGN_OR_RETURN(const Value y, ScaledSums(c, sums, a_scale, c.In(4), c.Float("alpha", 1)));
  if (!c.Has(7)) {
    c.Set(0, y, kTypeFloat);
    return Status::Ok();
  }
  const int type = c.Has(8) ? c.In(8).type : c.In(0).type;
  PLUMB_ASSIGN_OR_RETURN(const Value q, Quantized(c, y, c.In(7), Given(c, 8), type));
  c.Set(0, q, type);
  return Status::Ok();
}

// a, b, a_scale, b_scale[, a_zero_point, b_zero_point, bias]
Status MapMicrosoftMatMulIntegerToFloat(NodeContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const Value a_scale, Single(c, c.In(2), "a_scale"));
  PLUMB_ASSIGN_OR_RETURN(const Value sums, IntegerProduct(c, c.In(0), c.In(1), Given(c, 4), Given(c, 5)));
  PLUMB_ASSIGN_OR_RETURN(const Value scaled, ScaledSums(c, sums, a_scale, c.In(3), 1));
  PLUMB_ASSIGN_OR_RETURN(const Value y, PlusBiasOf(c, scaled, 6));
  c.Set(0, y, c.In(2).type);
  return Status::Ok();
}

// a, b, b_scale[, b_zero_point, bias]
Status MapMicrosoftDynamicQuantizeMatMul(NodeContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const DynamicQuantized a, QuantizeDynamically(c, c.In(0)));
  PLUMB_ASSIGN_OR_RETURN(const Value sums, IntegerProduct(c, a.q, c.In(1), a.zero_point, Given(c, 3)));
  PLUMB_ASSIGN_OR_RETURN(const Value scaled, ScaledSums(c, sums, a.scale, c.In(2), 1));
  PLUMB_ASSIGN_OR_RETURN(const Value y, PlusBiasOf(c, scaled, 4));
  c.Set(0, y, c.In(0).type);
  return Status::Ok();
}

}  // namespace plumb::onnx
