// SPDX-License-Identifier: Apache-2.0
// PlumbTrilu, PlumbEyeLike (op/trilu.h): exact; tau follows its element.
#include "op/trilu.h"

#include <cstring>

#include "base/by_dtype.h"
#include "reference/core/elementwise.h"

namespace plumb {
namespace {

Status RunTrilu(const ReferenceArgs& args) {
  const auto& p = ParamOf<TriluParam>(args.layer);
  const int64_t k = args.inputs.size() == 2 ? *args.inputs[1]->data<int64_t>() : p.k;
  const Shape& shape = args.inputs[0]->shape();
  const int64_t rows = shape[shape.rank() - 2], columns = shape[shape.rank() - 1];
  return WithBits(args.inputs[0]->dtype(), [&](auto bits) {
    using T = decltype(bits);
    const T* x = static_cast<const T*>(args.inputs[0]->raw());
    T* y = static_cast<T*>(args.outputs[0]->raw());
    for (int64_t i = 0; i < shape.NumElements(); ++i) {
      y[i] = InTriangle(p.upper, k, i / columns % rows, i % columns) ? x[i] : T{0};
    }
    return Status::Ok();
  });
}

Status BoundTrilu(const ReferenceArgs& args, const BoundArgs& bound) {
  return RunMovedWithBound(RunTrilu, args, bound);
}

Status RunEye(const ReferenceArgs& args) {
  Tensor* out = args.outputs[0];
  const int64_t k = ParamOf<EyeLikeParam>(args.layer).k, columns = out->shape()[1];
  PLUMB_ASSIGN_OR_RETURN(Tensor one, Tensor::Zeros(DType::kI64, {}));
  *one.data<int64_t>() = 1;
  PLUMB_ASSIGN_OR_RETURN(const Tensor value, one.ConvertedTo(out->dtype()));
  const size_t size = DTypeSize(out->dtype());
  std::memset(out->raw(), 0, out->bytes());
  for (int64_t i = 0; i < out->NumElements(); ++i) {
    if (i % columns - i / columns != k) continue;
    std::memcpy(static_cast<char*>(out->raw()) + static_cast<size_t>(i) * size, value.raw(), size);
  }
  return Status::Ok();
}

}  // namespace

ReferenceOp ReferencePlumbTrilu() { return {RunTrilu, BoundTrilu}; }
ReferenceOp ReferencePlumbEyeLike() { return {RunEye, RunExact<RunEye>}; }

}  // namespace plumb
