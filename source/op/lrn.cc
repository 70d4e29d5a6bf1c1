// SPDX-License-Identifier: Apache-2.0
#include "op/lrn.h"

#include <fmt/core.h>

namespace plumb {
namespace {

Status InferLrn(ShapeContext& context) {
  const int size = ParamOf<LrnParam>(context.layer).size;
  if (size <= 0) return Status::InvalidArgument(fmt::format("size {} is not positive", size));
  if (context.shape(0).rank() < 2) {
    return Status::InvalidArgument("expects an input of rank 2 or more, found " + context.shape(0).ToString());
  }
  return InferFloatSameAsInput(context);
}

double FlopsLrn(const Layer& layer, const std::vector<BlobInfo>& inputs, const std::vector<BlobInfo>& outputs) {
  return static_cast<double>(outputs[0].shape.NumElements()) * (2.0 * ParamOf<LrnParam>(layer).size + 3);
}

}  // namespace

OpDef DefineLRN() {
  OpDef op;
  op.make_param = MakeParam<LrnParam>;
  op.infer = InferLrn;
  op.flops = FlopsLrn;
  op.sums = Sums::kSquares;
  return op;
}

}  // namespace plumb
