// SPDX-License-Identifier: Apache-2.0
// PlumbGatherElements (op/gather_elements.h): copies elements; bit-exact, tau follows its element.
#include "op/gather_elements.h"

#include "base/by_dtype.h"
#include "reference/core/reference_op.h"

namespace plumb {
namespace {

Status RunGatherElements(const ReferenceArgs& args) {
  const Tensor& data = *args.inputs[0];
  PLUMB_ASSIGN_OR_RETURN(const int axis,
                         NormalizeAxis(ParamOf<GatherElementsParam>(args.layer).axis, data.shape().rank()));
  PLUMB_ASSIGN_OR_RETURN(const std::vector<int64_t> from, ElementsAlong(data.shape(), axis, *args.inputs[1]));
  return WithBits(data.dtype(), [&](auto bits) {
    using T = decltype(bits);
    const T* x = static_cast<const T*>(data.raw());
    T* y = static_cast<T*>(args.outputs[0]->raw());
    for (size_t i = 0; i < from.size(); ++i) y[i] = x[from[i]];
    return Status::Ok();
  });
}

Status BoundGatherElements(const ReferenceArgs& args, const BoundArgs& bound) {
  return RunMovedWithBound(RunGatherElements, args, bound);
}

}  // namespace

ReferenceOp ReferencePlumbGatherElements() { return {RunGatherElements, BoundGatherElements}; }

}  // namespace plumb
