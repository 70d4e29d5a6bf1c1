// SPDX-License-Identifier: Apache-2.0
// Reshape: the same elements under another shape; reshape_type 1 walks both sides in NHWC order. Bit-exact.
#include "op/reshape.h"

#include <cstring>

#include "reference/core/reference_op.h"

namespace plumb {
namespace {

// Index in NCHW order of element i of the NHWC walk.
int64_t FromNhwc(int64_t i, const Shape& shape) {
  const int64_t channels = shape.DimOrOne(1);
  const int64_t spatial = shape.rank() > 2 ? shape.CountFrom(2) : 1;
  const int64_t c = i % channels;
  const int64_t p = i / channels % spatial;
  const int64_t n = i / channels / spatial;
  return (n * channels + c) * spatial + p;
}

Status RunReshape(const ReferenceArgs& args) {
  const Tensor& in = *args.inputs[0];
  Tensor* out = args.outputs[0];
  if (ParamOf<ReshapeParam>(args.layer).reshape_type == 0) {
    std::memcpy(out->raw(), in.raw(), in.bytes());
    return Status::Ok();
  }
  const size_t size = DTypeSize(in.dtype());
  const char* src = static_cast<const char*>(in.raw());
  char* dst = static_cast<char*>(out->raw());
  for (int64_t i = 0; i < in.NumElements(); ++i) {
    std::memcpy(dst + static_cast<size_t>(FromNhwc(i, out->shape())) * size,
                src + static_cast<size_t>(FromNhwc(i, in.shape())) * size, size);
  }
  return Status::Ok();
}

Status BoundReshape(const ReferenceArgs& args, const BoundArgs& bound) {
  return RunMovedWithBound(RunReshape, args, bound);
}

}  // namespace

ReferenceOp ReferenceReshape() { return {RunReshape, BoundReshape}; }

}  // namespace plumb
