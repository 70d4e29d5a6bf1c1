// SPDX-License-Identifier: Apache-2.0
// Where: x or y, element by element; bit-exact, tau follows the element taken.
#include "reference/core/broadcast.h"
#include "reference/core/elementwise.h"

namespace plumb {
namespace {

template <class T>
void PickWhere(const ReferenceArgs& args, const bool* truth) {
  const auto* x = static_cast<const T*>(args.inputs[0]->raw());
  const auto* y = static_cast<const T*>(args.inputs[1]->raw());
  Tensor* out = args.outputs[0];
  auto* z = static_cast<T*>(out->raw());
  const Broadcast of_x(args.inputs[0]->shape(), args.inputs[2]->shape(), out->shape());
  const Broadcast of_y(args.inputs[1]->shape(), args.inputs[2]->shape(), out->shape());
  ParallelFor(out->NumElements(), kElementGrain, [&](int64_t begin, int64_t end) {
    of_x.ForEach(begin, end, [&](int64_t i, int64_t ix, int64_t ic) {
      if (truth[ic]) z[i] = x[ix];
    });
    of_y.ForEach(begin, end, [&](int64_t i, int64_t iy, int64_t ic) {
      if (!truth[ic]) z[i] = y[iy];
    });
  });
}

Status RunWhere(const ReferenceArgs& args) {
  PLUMB_ASSIGN_OR_RETURN(const Tensor truth, args.inputs[2]->ConvertedTo(DType::kBool));
  switch (DTypeSize(args.outputs[0]->dtype())) {
    case 1: PickWhere<uint8_t>(args, truth.data<bool>()); break;
    case 2: PickWhere<uint16_t>(args, truth.data<bool>()); break;
    case 4: PickWhere<uint32_t>(args, truth.data<bool>()); break;
    default: PickWhere<uint64_t>(args, truth.data<bool>()); break;
  }
  return Status::Ok();
}

Status BoundWhere(const ReferenceArgs& args, const BoundArgs& bound) {
  return RunMovedWithBound(RunWhere, args, bound);
}

}  // namespace

ReferenceOp ReferenceWhere() { return {RunWhere, BoundWhere}; }

}  // namespace plumb
