// SPDX-License-Identifier: Apache-2.0
// PlumbHardmax (op/hardmax.h): exact, and a step: nothing behind uncertain inputs can be judged.
#include "op/hardmax.h"

#include <algorithm>
#include <cmath>

#include "reference/core/elementwise.h"

namespace plumb {
namespace {

Status RunHardmax(const ReferenceArgs& args) {
  const Shape& shape = args.inputs[0]->shape();
  PLUMB_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(ParamOf<HardmaxParam>(args.layer).axis, shape.rank()));
  const int64_t size = shape[axis], inner = shape.CountFrom(axis + 1);
  return WithStorage(args.inputs[0]->dtype(), [&](auto storage) {
    using T = decltype(storage);
    const T* x = args.inputs[0]->data<T>();
    T* y = args.outputs[0]->data<T>();
    std::fill_n(y, shape.NumElements(), T{0});
    for (int64_t r = 0; size > 0 && r < shape.Count(0, axis) * inner; ++r) {
      const int64_t start = r / inner * size * inner + r % inner;
      int64_t best = start;
      for (int64_t i = 1; i < size; ++i) {
        const T value = x[start + i * inner];
        if (value > x[best] || (std::isnan(value) && !std::isnan(x[best]))) best = start + i * inner;
      }
      y[best] = T{1};
    }
    return Status::Ok();
  });
}

}  // namespace

ReferenceOp ReferencePlumbHardmax() { return ExactStep<RunHardmax>(); }

}  // namespace plumb
