// SPDX-License-Identifier: Apache-2.0
#include "op/trilu.h"

#include <fmt/core.h>

#include "op/core/strided.h"

namespace plumb {
namespace {

Status InferTrilu(ShapeContext& context) {
  if (context.shape(0).rank() < 2) {
    return Status::InvalidArgument("expects at least 2 dims, found " + context.shape(0).ToString());
  }
  if (context.inputs.size() == 2 && (context.inputs[1].dtype != DType::kI64 || context.shape(1).NumElements() != 1)) {
    return Status::InvalidArgument(
        fmt::format("k must be one i64, found {} {}", DTypeName(context.inputs[1].dtype), context.shape(1).ToString()));
  }
  return InferSameAsInput(context);
}

Status InferEye(ShapeContext& context) {
  const auto& p = ParamOf<EyeLikeParam>(context.layer);
  if (context.shape(0).rank() != 2) {
    return Status::InvalidArgument("expects a matrix, found " + context.shape(0).ToString());
  }
  const auto named = ParseDType(p.dtype);
  if (!named && p.dtype != "like") return Status::InvalidArgument(fmt::format("'{}' is no dtype", p.dtype));
  const DType dtype = named ? *named : context.inputs[0].dtype;
  context.SetAll(dtype, context.shape(0));
  if (context.shape(0).NumElements() > kMaxHostValues) return Status::Ok();
  const int64_t rows = context.shape(0)[0], columns = context.shape(0)[1];
  PLUMB_ASSIGN_OR_RETURN(Tensor y, Tensor::Zeros(DType::kI64, context.shape(0)));
  for (int64_t r = 0; r < rows; ++r) {
    if (r + p.k >= 0 && r + p.k < columns) y.data<int64_t>()[r * columns + r + p.k] = 1;
  }
  PLUMB_ASSIGN_OR_RETURN(context.outputs[0].value, y.ConvertedTo(dtype));
  return Status::Ok();
}

}  // namespace

OpDef DefinePlumbTrilu() {
  OpDef op;
  op.make_param = MakeParam<TriluParam>;
  op.infer = InferTrilu;
  return op;
}

OpDef DefinePlumbEyeLike() {
  OpDef op;
  op.make_param = MakeParam<EyeLikeParam>;
  op.infer = InferEye;
  return op;
}

}  // namespace plumb
