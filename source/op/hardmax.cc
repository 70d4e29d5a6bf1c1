// SPDX-License-Identifier: Apache-2.0
#include "op/hardmax.h"

namespace plumb {
namespace {

Status InferHardmax(ShapeContext& context) {
  PLUMB_RETURN_IF_ERROR(NormalizeAxis(ParamOf<HardmaxParam>(context.layer).axis, context.shape(0).rank()).status());
  return InferFloatSameAsInput(context);
}

}  // namespace

OpDef DefinePlumbHardmax() {
  OpDef op;
  op.make_param = MakeParam<HardmaxParam>;
  op.infer = InferHardmax;
  return op;
}

}  // namespace plumb
