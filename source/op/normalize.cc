// SPDX-License-Identifier: Apache-2.0
#include "op/normalize.h"

#include <fmt/core.h>

namespace plumb {
namespace {

Status InferNormalize(ShapeContext& context) {
  const auto& p = ParamOf<NormalizeParam>(context.layer);
  PLUMB_RETURN_IF_ERROR(NormalizeAxis(p.axis, context.shape(0).rank()).status());
  if (p.p != 1 && p.p != 2 && p.p != INT_MAX && p.p != INT_MIN) {
    return Status::InvalidArgument(fmt::format("p {} is not 1, 2, INT_MAX (max) or INT_MIN (min)", p.p));
  }
  return InferFloatSameAsInput(context);
}

double FlopsNormalize(const Layer& layer, const std::vector<BlobInfo>& inputs, const std::vector<BlobInfo>& outputs) {
  return 3.0 * static_cast<double>(outputs[0].shape.NumElements());
}

}  // namespace

OpDef DefineNormalize() {
  OpDef op;
  op.make_param = MakeParam<NormalizeParam>;
  op.infer = InferNormalize;
  op.flops = FlopsNormalize;
  op.sums = Sums::kSquares;
  return op;
}

}  // namespace plumb
