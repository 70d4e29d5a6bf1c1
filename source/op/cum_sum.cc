// SPDX-License-Identifier: Apache-2.0
#include "op/cum_sum.h"

#include <fmt/core.h>

#include "op/core/strided.h"

namespace plumb {
namespace {

template <class T>
void Sum(const CumSumParam& p, int axis, const Tensor& x, Tensor* y) {
  using U = std::make_unsigned_t<T>;
  const int64_t size = x.shape()[axis], inner = x.shape().CountFrom(axis + 1);
  for (int64_t r = 0; r < x.shape().Count(0, axis) * inner; ++r) {
    const int64_t start = r / inner * size * inner + r % inner;
    U sum = 0;
    for (int64_t i = 0; i < size; ++i) {
      const int64_t at = start + (p.reverse ? size - 1 - i : i) * inner;
      const U before = sum;
      sum += static_cast<U>(x.data<T>()[at]);
      y->data<T>()[at] = static_cast<T>(p.exclusive ? before : sum);
    }
  }
}

Status InferCumSum(ShapeContext& context) {
  const BlobInfo& in = context.inputs[0];
  const bool whole = in.dtype == DType::kI32 || in.dtype == DType::kI64;
  if (!whole && !IsFloat(in.dtype)) {
    return Status::InvalidArgument(std::string("expects floats, i32 or i64, found ") + DTypeName(in.dtype));
  }
  if (context.inputs.size() == 2 && (IsFloat(context.inputs[1].dtype) || context.shape(1).NumElements() != 1)) {
    return Status::InvalidArgument(fmt::format("the axis must be one integer, found {} {}",
                                               DTypeName(context.inputs[1].dtype), context.shape(1).ToString()));
  }
  PLUMB_RETURN_IF_ERROR(InferSameAsInput(context));
  const bool axis_known = context.inputs.size() == 1 || !context.inputs[1].value.empty();
  if (!axis_known) return Status::Ok();
  PLUMB_ASSIGN_OR_RETURN(const int axis, CumSumAxis(context.layer, context.inputs));
  if (!whole || !HasHostValue(in)) return Status::Ok();
  PLUMB_ASSIGN_OR_RETURN(Tensor y, Tensor::Create(in.dtype, in.shape));
  const auto& p = ParamOf<CumSumParam>(context.layer);
  if (in.dtype == DType::kI64) {
    Sum<int64_t>(p, axis, in.value, &y);
  } else {
    Sum<int32_t>(p, axis, in.value, &y);
  }
  context.outputs[0].value = y;
  return Status::Ok();
}

}  // namespace

Result<int> CumSumAxis(const Layer& layer, const std::vector<BlobInfo>& inputs) {
  int axis = ParamOf<CumSumParam>(layer).axis;
  if (inputs.size() == 2) {
    PLUMB_ASSIGN_OR_RETURN(const std::vector<int64_t> given, KnownInts(inputs[1], "the axis"));
    if (given[0] < INT32_MIN || given[0] > INT32_MAX) {
      return Status::InvalidArgument(
          fmt::format("axis {} is outside a blob of rank {}", given[0], inputs[0].shape.rank()));
    }
    axis = static_cast<int>(given[0]);
  }
  return NormalizeAxis(axis, inputs[0].shape.rank());
}

OpDef DefinePlumbCumSum() {
  OpDef op;
  op.make_param = MakeParam<CumSumParam>;
  op.infer = InferCumSum;
  op.sums = Sums::kTerms;
  return op;
}

}  // namespace plumb
