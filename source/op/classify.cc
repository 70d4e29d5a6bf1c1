// SPDX-License-Identifier: Apache-2.0
#include "op/classify.h"

namespace plumb {
namespace {

Status InferClassify(ShapeContext& context) {
  PLUMB_RETURN_IF_ERROR(InferFloatSameAsInput(context));
  context.SetAll(DType::kBool, context.shape(0));
  return Status::Ok();
}

}  // namespace

OpDef DefinePlumbIsNaN() {
  OpDef op;
  op.infer = InferClassify;
  return op;
}

OpDef DefinePlumbIsInf() {
  OpDef op;
  op.make_param = MakeParam<IsInfParam>;
  op.infer = InferClassify;
  return op;
}

}  // namespace plumb
