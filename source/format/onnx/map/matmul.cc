// SPDX-License-Identifier: Apache-2.0
// MatMul, Gemm. A Gemm with constant weights is an InnerProduct; any other is spelled out: alpha A' B' + beta C.
#include "op/matmul.h"

#include <fmt/core.h>

#include "format/onnx/map/product_steps.h"
#include "op/inner_product.h"

namespace plumb::onnx {
namespace {

Result<Tensor> Transposed(const Tensor& m) {
  const int64_t rows = m.shape()[0], columns = m.shape()[1];
  PLUMB_ASSIGN_OR_RETURN(Tensor t, Tensor::Create(DType::kF32, Shape{columns, rows}));
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t k = 0; k < columns; ++k) t.data<float>()[k * rows + r] = m.data<float>()[r * columns + k];
  }
  return t;
}

}  // namespace

Result<Value> Product(NodeContext& c, const Value& a, const Value& b) {
  for (int position = 0; position < 2; ++position) {
    const Value& constant = position == 0 ? a : b;
    const Value& other = position == 0 ? b : a;
    const Tensor* weight = c.Known(constant);
    if (weight == nullptr || weight->dtype() != DType::kF32 || c.Known(other) != nullptr) continue;
    auto param = std::make_shared<MatMulParam>();
    param->weight_position = position;
    return c.Emit(OpKind::kMatMul, param, {other}, {{"weight", *weight}});
  }
  return c.Emit(OpKind::kMatMul, nullptr, {a, b});
}

namespace {

// True when it was one.
Result<bool> TryInnerProduct(NodeContext& c) {
  const Tensor* weight = c.Known(1);
  const Tensor* bias = c.Known(2);
  if (c.Int("transA", 0) != 0 || c.Float("alpha", 1) != 1 || c.DTypeOf(0) != DType::kF32 || c.Known(0) != nullptr)
    return false;
  if (weight == nullptr || weight->dtype() != DType::kF32) return false;
  const bool transposed = c.Int("transB", 0) != 0;
  const int64_t outputs = weight->shape()[transposed ? 0 : 1];
  if (c.Has(2)) {
    if (bias == nullptr || bias->dtype() != DType::kF32 || c.Float("beta", 1) != 1) return false;
    const Shape& shape = bias->shape();
    if (shape.NumElements() != outputs || shape.rank() == 0 || shape[shape.rank() - 1] != outputs) return false;
  }
  auto param = std::make_shared<InnerProductParam>();
  param->num_output = static_cast<int>(outputs);
  param->has_bias = c.Has(2);
  std::map<std::string, Tensor> resources;
  if (transposed) {
    resources["weight"] = *weight;
  } else {
    PLUMB_ASSIGN_OR_RETURN(resources["weight"], Transposed(*weight));
  }
  if (param->has_bias) {
    PLUMB_ASSIGN_OR_RETURN(resources["bias"], bias->Reshaped(Shape{outputs}));
  }
  PLUMB_RETURN_IF_ERROR(c.EmitOutput(OpKind::kInnerProduct, param, {c.In(0)}, resources));
  return true;
}

}  // namespace

Status MapMatMul(NodeContext& c) {
  if (!IsFloat(c.DTypeOf(0)) || c.DTypeOf(0) != c.DTypeOf(1)) return Status::NotSupported("integer operands");
  PLUMB_ASSIGN_OR_RETURN(const Value y, Product(c, c.In(0), c.In(1)));
  c.Set(0, y);
  return Status::Ok();
}

Status MapGemm(NodeContext& c) {
  const Shape& a = c.ShapeOf(0);
  const Shape& b = c.ShapeOf(1);
  if (a.rank() != 2 || b.rank() != 2)
    return Status::CorruptModel(fmt::format("expects matrices, found {} and {}", a.ToString(), b.ToString()));
  const bool trans_a = c.Int("transA", 0) != 0, trans_b = c.Int("transB", 0) != 0;
  if (a[trans_a ? 0 : 1] != b[trans_b ? 1 : 0])
    return Status::CorruptModel(fmt::format("the inner dims of {} and {} differ", a.ToString(), b.ToString()));
  if (!IsFloat(c.DTypeOf(0))) return Status::NotSupported("integer operands");
  PLUMB_ASSIGN_OR_RETURN(const bool done, TryInnerProduct(c));
  if (done) return Status::Ok();
  Value left = c.In(0), right = c.In(1);
  if (trans_a) {
    PLUMB_ASSIGN_OR_RETURN(left, c.Transpose(left, {1, 0}));
  }
  if (trans_b) {
    PLUMB_ASSIGN_OR_RETURN(right, c.Transpose(right, {1, 0}));
  }
  PLUMB_ASSIGN_OR_RETURN(Value y, Product(c, left, right));
  const DType dtype = c.DTypeOf(0);
  if (c.Float("alpha", 1) != 1) {
    PLUMB_ASSIGN_OR_RETURN(y, c.Binary(OpKind::kMul, y, c.ConstFloat(c.Float("alpha", 1), dtype)));
  }
  if (c.Has(2)) {
    Value addend = c.In(2);
    if (c.Float("beta", 1) != 1) {
      PLUMB_ASSIGN_OR_RETURN(addend, c.Binary(OpKind::kMul, addend, c.ConstFloat(c.Float("beta", 1), dtype)));
    }
    PLUMB_ASSIGN_OR_RETURN(y, c.Binary(OpKind::kAdd, y, addend));
  }
  c.Set(0, y);
  return Status::Ok();
}

}  // namespace plumb::onnx
