// SPDX-License-Identifier: Apache-2.0
// com.microsoft's fused operators: FusedConv and FusedGemm are Conv (plus a blob Z) and Gemm with an activation behind
// them; FusedMatMul (once TransposeMatMul) is alpha times the product of operands that may be transposed.
#include <fmt/core.h>

#include "format/onnx/map/product_steps.h"
#include "op/activation.h"
#include "op/prelu.h"

namespace plumb::onnx {

Status MapConv(NodeContext& c);
Status MapGemm(NodeContext& c);

namespace {

Result<Value> FusedLeaky(NodeContext& c, const Value& x, float slope) {
  auto param = std::make_shared<PReLUParam>();
  param->channel_shared = 1;
  PLUMB_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(DType::kF32, Shape{1}));
  tensor.data<float>()[0] = slope;
  return c.Emit(OpKind::kPReLU, param, {x}, {{"slope", tensor}});
}

// `given`: the activation's numbers, in the order of ONNX Runtime's activation_params; fewer than it takes leave its
// own defaults.
Result<Value> Activated(NodeContext& c, const Value& x, const std::string& name, const std::vector<float>& given) {
  const auto number = [&](size_t i, float usual) { return i < given.size() ? given[i] : usual; };
  if (name.empty()) return x;
  if (name == "Relu") return c.Emit(OpKind::kReLU, nullptr, {x});
  if (name == "Tanh") return c.Emit(OpKind::kTanh, nullptr, {x});
  if (name == "Sigmoid") return c.Emit(OpKind::kSigmoid, nullptr, {x});
  if (name == "Softplus") return c.Emit(OpKind::kSoftplus, nullptr, {x});
  if (name == "Softsign") return c.Emit(OpKind::kSoftsign, nullptr, {x});
  if (name == "LeakyRelu") return FusedLeaky(c, x, number(0, 0.01f));
  if (name == "Elu") {
    auto param = std::make_shared<EluParam>();
    param->alpha = number(0, 1);
    return c.Emit(OpKind::kElu, param, {x});
  }
  if (name == "HardSigmoid" || name == "HardSwish") {
    auto param = std::make_shared<HardParam>();
    param->alpha = name == "HardSwish" ? 1.0f / 6 : number(0, 0.2f);
    param->beta = number(1, 0.5f);
    return c.Emit(name == "HardSwish" ? OpKind::kHardSwish : OpKind::kHardSigmoid, param, {x});
  }
  if (name == "Clip" && given.size() == 2) {
    auto param = std::make_shared<ClipParam>();
    param->min = given[0];
    param->max = given[1];
    return c.Emit(OpKind::kClip, param, {x});
  }
  return Status::NotSupported(fmt::format("the activation '{}' with {} numbers cannot be fused", name, given.size()));
}

// Dim 0 of a transBatch operand stands in front of its last: [m, batch ..., k] as [batch ..., m, k].
Result<Value> Turned(NodeContext& c, size_t input, const char* last_two, const char* batch) {
  const int rank = c.Rank(input);
  const bool swap = c.Int(last_two, 0) != 0, move = c.Int(batch, 0) != 0;
  if (rank < 2 || (!swap && !move)) return c.In(input);
  std::vector<int> orders;
  for (int i = 0; i < rank; ++i) orders.push_back(i);
  if (move) {
    orders.erase(orders.begin());
    orders.insert(orders.end() - 1, 0);
  }
  if (swap) std::swap(orders[orders.size() - 1], orders[orders.size() - 2]);
  return c.Transpose(c.In(input), orders);
}

}  // namespace

Status MapMicrosoftFusedConv(NodeContext& c) {
  PLUMB_RETURN_IF_ERROR(MapConv(c));
  Value y = c.outputs()[0];
  if (c.Has(3)) {
    PLUMB_ASSIGN_OR_RETURN(y, c.Binary(OpKind::kAdd, y, c.In(3)));
  }
  PLUMB_ASSIGN_OR_RETURN(y, Activated(c, y, c.Text("activation", ""), c.FloatList("activation_params")));
  c.Set(0, y);
  return Status::Ok();
}

Status MapMicrosoftFusedGemm(NodeContext& c) {
  PLUMB_RETURN_IF_ERROR(MapGemm(c));
  std::vector<float> numbers;
  for (const char* name : {"activation_alpha", "activation_beta", "activation_gamma"}) {
    if (c.HasAttribute(name)) numbers.push_back(c.Float(name, 0));
  }
  PLUMB_ASSIGN_OR_RETURN(const Value y, Activated(c, c.outputs()[0], c.Text("activation", ""), numbers));
  c.Set(0, y);
  return Status::Ok();
}

Status MapMicrosoftFusedMatMul(NodeContext& c) {
  if (!IsFloat(c.DTypeOf(0)) || c.DTypeOf(0) != c.DTypeOf(1)) return Status::NotSupported("integer operands");
  PLUMB_ASSIGN_OR_RETURN(const Value a, Turned(c, 0, "transA", "transBatchA"));
  PLUMB_ASSIGN_OR_RETURN(const Value b, Turned(c, 1, "transB", "transBatchB"));
  PLUMB_ASSIGN_OR_RETURN(Value y, Product(c, a, b));
  const float alpha = c.Float("alpha", 1);
  if (alpha != 1) {
    PLUMB_ASSIGN_OR_RETURN(y, c.Binary(OpKind::kMul, y, c.ConstFloat(alpha, c.DTypeOf(0))));
  }
  c.Set(0, y);
  return Status::Ok();
}

Status MapMicrosoftTransposeMatMul(NodeContext& c) { return MapMicrosoftFusedMatMul(c); }

}  // namespace plumb::onnx
