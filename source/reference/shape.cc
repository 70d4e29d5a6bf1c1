// SPDX-License-Identifier: Apache-2.0
// Shape, Size: the dims of the input and their product; exact.
#include <cstring>

#include "reference/core/reference_op.h"

namespace plumb {
namespace {

Status RunShape(const ReferenceArgs& args) {
  const Shape& shape = args.inputs[0]->shape();
  for (int i = 0; i < shape.rank(); ++i) args.outputs[0]->data<int32_t>()[i] = static_cast<int32_t>(shape[i]);
  return Status::Ok();
}

Status RunSize(const ReferenceArgs& args) {
  *args.outputs[0]->data<int32_t>() = static_cast<int32_t>(args.inputs[0]->NumElements());
  return Status::Ok();
}

// Whatever the input's tau, its shape is exact.
template <Status (*run)(const ReferenceArgs&)>
Status BoundShape(const ReferenceArgs& args, const BoundArgs& bound) {
  std::memset(bound.tau[0]->raw(), 0, bound.tau[0]->bytes());
  return run(args);
}

}  // namespace

ReferenceOp ReferenceShape() { return {RunShape, BoundShape<RunShape>}; }
ReferenceOp ReferenceSize() { return {RunSize, BoundShape<RunSize>}; }

}  // namespace plumb
