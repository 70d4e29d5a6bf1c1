// SPDX-License-Identifier: Apache-2.0
// OneHot, PlumbOneHot (op/one_hot.h): exact; a step, so nothing behind uncertain inputs can be judged.
#include "op/one_hot.h"

#include <algorithm>
#include <cstring>

#include "base/by_dtype.h"
#include "reference/core/elementwise.h"

namespace plumb {
namespace {

Result<Tensor> ValuesOf(const ReferenceArgs& args) {
  if (args.layer.kind == OpKind::kPlumbOneHot) return *args.inputs[2];
  const auto& p = ParamOf<OneHotParam>(args.layer);
  PLUMB_ASSIGN_OR_RETURN(Tensor values, Tensor::Create(DType::kF32, {2}));
  values.data<float>()[0] = p.off_value;
  values.data<float>()[1] = p.on_value;
  return values.ConvertedTo(args.outputs[0]->dtype());
}

Status RunOneHot(const ReferenceArgs& args) {
  PLUMB_ASSIGN_OR_RETURN(const OneHotShape s, ResolveOneHot(args.layer, InfosOf(args)));
  PLUMB_ASSIGN_OR_RETURN(const Tensor indices, args.inputs[0]->ConvertedTo(DType::kI64));
  PLUMB_ASSIGN_OR_RETURN(const Tensor values, ValuesOf(args));
  return WithBits(values.dtype(), [&](auto bits) {
    using T = decltype(bits);
    const T* pair = static_cast<const T*>(values.raw());
    T* y = static_cast<T*>(args.outputs[0]->raw());
    std::fill_n(y, args.outputs[0]->NumElements(), pair[0]);
    for (int64_t i = 0; i < indices.NumElements(); ++i) {
      const int64_t index = indices.data<int64_t>()[i];
      if (index < -s.depth || index >= s.depth) continue;
      const int64_t at = index < 0 ? index + s.depth : index;
      y[(i / s.inner * s.depth + at) * s.inner + i % s.inner] = pair[1];
    }
    return Status::Ok();
  });
}

}  // namespace

ReferenceOp ReferenceOneHot() { return ExactStep<RunOneHot>(); }
ReferenceOp ReferencePlumbOneHot() { return ExactStep<RunOneHot>(); }

}  // namespace plumb
