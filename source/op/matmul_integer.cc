// SPDX-License-Identifier: Apache-2.0
#include "op/matmul_integer.h"

#include <fmt/core.h>

#include "op/matmul.h"

namespace plumb {
namespace {

Status InferMatmulInteger(ShapeContext& context) {
  const auto& p = ParamOf<MatMulIntegerParam>(context.layer);
  const size_t expected = 2 + (p.has_a_zero_point ? 1u : 0u) + (p.has_b_zero_point ? 1u : 0u);
  if (context.inputs.size() != expected) {
    return Status::InvalidArgument(
        fmt::format("the flags announce {} inputs, found {}", expected, context.inputs.size()));
  }
  for (const BlobInfo& in : context.inputs) {
    if (IsFloat(in.dtype))
      return Status::InvalidArgument(std::string("expects integers, found ") + DTypeName(in.dtype));
  }
  PLUMB_ASSIGN_OR_RETURN(const MatMulShape shape, ResolveMatMul(context.shape(0), context.shape(1)));
  const auto check = [&](size_t i, int64_t count, const char* name) {
    const int64_t found = context.inputs[i].shape.NumElements();
    if (found == 1 || found == count) return Status::Ok();
    return Status::InvalidArgument(
        fmt::format("{} must have 1 or {} values, found {}", name, count, context.inputs[i].shape.ToString()));
  };
  if (p.has_a_zero_point) PLUMB_RETURN_IF_ERROR(check(2, shape.m, "the zero point of A"));
  if (p.has_b_zero_point) PLUMB_RETURN_IF_ERROR(check(expected - 1, shape.n, "the zero point of B"));
  context.SetAll(DType::kI32, shape.output);
  return Status::Ok();
}

double FlopsMatmulInteger(const Layer&, const std::vector<BlobInfo>& inputs, const std::vector<BlobInfo>& outputs) {
  const auto shape = ResolveMatMul(inputs[0].shape, inputs[1].shape);
  return shape.ok() ? 2 * static_cast<double>(shape->k) * static_cast<double>(outputs[0].shape.NumElements()) : 0;
}

}  // namespace

OpDef DefinePlumbMatMulInteger() {
  OpDef op;
  op.make_param = MakeParam<MatMulIntegerParam>;
  op.infer = InferMatmulInteger;
  op.flops = FlopsMatmulInteger;
  return op;
}

}  // namespace plumb
