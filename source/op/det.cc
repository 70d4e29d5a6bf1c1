// SPDX-License-Identifier: Apache-2.0
// PlumbDet: the determinant of each matrix in the last two dims.
#include "op/core/op.h"

namespace plumb {
namespace {

Status InferDet(ShapeContext& context) {
  PLUMB_RETURN_IF_ERROR(InferFloatSameAsInput(context));
  const Shape& in = context.shape(0);
  const int rank = in.rank();
  if (rank < 2 || in[rank - 1] != in[rank - 2]) {
    return Status::InvalidArgument("expects square matrices, found " + in.ToString());
  }
  context.SetAll(context.inputs[0].dtype, Shape(std::vector<int64_t>(in.dims().begin(), in.dims().end() - 2)));
  return Status::Ok();
}

}  // namespace

OpDef DefinePlumbDet() {
  OpDef op;
  op.infer = InferDet;
  return op;
}

}  // namespace plumb
