// SPDX-License-Identifier: Apache-2.0
#include "op/softmax.h"

namespace plumb {
namespace {

Status InferSoftmax(ShapeContext& context) {
  PLUMB_RETURN_IF_ERROR(NormalizeAxis(ParamOf<SoftmaxParam>(context.layer).axis, context.shape(0).rank()).status());
  return InferFloatSameAsInput(context);
}

}  // namespace

OpDef DefineSoftmax() {
  OpDef op;
  op.make_param = MakeParam<SoftmaxParam>;
  op.infer = InferSoftmax;
  return op;
}

OpDef DefineLogSoftmax() { return DefineSoftmax(); }

}  // namespace plumb
