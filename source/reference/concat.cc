// SPDX-License-Identifier: Apache-2.0
// Concat: joins blobs along one axis; moves elements, bit-exact.
#include "op/concat.h"

#include <algorithm>
#include <cstring>

#include "base/threads.h"
#include "reference/core/reference_op.h"

namespace plumb {
namespace {

constexpr int64_t kConcatGrain = 1 << 18;  // bytes

// `count` pieces of `size` bytes each, that lie one after the other, to places `step` apart.
void CopyPieces(const char* from, int64_t count, int64_t size, char* to, int64_t step) {
  ParallelFor(count * size, kConcatGrain, [&](int64_t begin, int64_t end) {
    while (begin < end) {
      const int64_t at = begin % size, bytes = std::min(size - at, end - begin);
      std::memcpy(to + begin / size * step + at, from + begin, static_cast<size_t>(bytes));
      begin += bytes;
    }
  });
}

Status RunConcat(const ReferenceArgs& args) {
  Tensor* out = args.outputs[0];
  PLUMB_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(ParamOf<ConcatParam>(args.layer).axis, out->shape().rank()));
  const int64_t outer = out->shape().Count(0, axis);
  const auto bytes = [axis](const Tensor& t) {
    return t.shape().CountFrom(axis) * static_cast<int64_t>(DTypeSize(t.dtype()));
  };
  char* dst = static_cast<char*>(out->raw());
  for (const Tensor* in : args.inputs) {
    CopyPieces(static_cast<const char*>(in->raw()), outer, bytes(*in), dst, bytes(*out));
    dst += bytes(*in);
  }
  return Status::Ok();
}

Status BoundConcat(const ReferenceArgs& args, const BoundArgs& bound) {
  return RunMovedWithBound(RunConcat, args, bound);
}

}  // namespace

ReferenceOp ReferenceConcat() { return {RunConcat, BoundConcat}; }

}  // namespace plumb
