// SPDX-License-Identifier: Apache-2.0
// PlumbReverseSequence (op/reverse_sequence.h): copies elements; bit-exact, tau follows its element.
#include "op/reverse_sequence.h"

#include "base/by_dtype.h"
#include "reference/core/reference_op.h"

namespace plumb {
namespace {

Status RunReverseSequence(const ReferenceArgs& args) {
  PLUMB_ASSIGN_OR_RETURN(const std::vector<int64_t> from,
                         ReversedElements(args.layer, args.inputs[0]->shape(), *args.inputs[1]));
  return WithBits(args.inputs[0]->dtype(), [&](auto bits) {
    using T = decltype(bits);
    const T* x = static_cast<const T*>(args.inputs[0]->raw());
    T* y = static_cast<T*>(args.outputs[0]->raw());
    for (size_t i = 0; i < from.size(); ++i) y[i] = x[from[i]];
    return Status::Ok();
  });
}

Status BoundReverseSequence(const ReferenceArgs& args, const BoundArgs& bound) {
  return RunMovedWithBound(RunReverseSequence, args, bound);
}

}  // namespace

ReferenceOp ReferencePlumbReverseSequence() { return {RunReverseSequence, BoundReverseSequence}; }

}  // namespace plumb
