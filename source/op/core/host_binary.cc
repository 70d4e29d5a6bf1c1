// SPDX-License-Identifier: Apache-2.0
#include "op/core/host_binary.h"

#include "op/core/strided.h"
#include "op/core/whole_numbers.h"

namespace plumb {
namespace {

template <class T>
bool Combine(OpKind kind, const Tensor& b, Tensor* y) {
  return whole::WithBinary<T>(kind, [&](auto f) {
    for (int64_t i = 0; i < y->NumElements(); ++i) y->data<T>()[i] = f(y->data<T>()[i], b.data<T>()[i]);
  });
}

}  // namespace

Result<Tensor> KnownBinary(OpKind kind, const BlobInfo& a, const BlobInfo& b, const Shape& out) {
  const bool wide = a.dtype == DType::kI64;
  if (a.dtype != b.dtype || (!wide && a.dtype != DType::kI32)) return Tensor();
  if (!HasHostValue(a) || !HasHostValue(b) || out.NumElements() > kMaxHostValues) return Tensor();
  PLUMB_ASSIGN_OR_RETURN(Tensor y, ApplyMap(BroadcastMap(a.shape, out), a.value));
  PLUMB_ASSIGN_OR_RETURN(const Tensor right, ApplyMap(BroadcastMap(b.shape, out), b.value));
  const bool done = wide ? Combine<int64_t>(kind, right, &y) : Combine<int32_t>(kind, right, &y);
  return done ? y : Tensor();
}

}  // namespace plumb
