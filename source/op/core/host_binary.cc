#include "op/core/host_binary.h"

#include <algorithm>
#include <type_traits>

#include "op/core/strided.h"

namespace plumb {
namespace {

bool Evaluates(OpKind kind) {
  switch (kind) {
    case OpKind::kAdd:
    case OpKind::kSub:
    case OpKind::kMul:
    case OpKind::kDiv:
    case OpKind::kMaximum:
    case OpKind::kMinimum:
    case OpKind::kPlumbMod:
    case OpKind::kPlumbFmod: return true;
    default: return false;
  }
}

template <class T>
T Remainder(T a, T b) {
  return b == 0 || b == -1 ? T{0} : a % b;
}

// In unsigned arithmetic, where overflow wraps.
template <class T>
T Combine(OpKind kind, T a, T b) {
  using U = std::make_unsigned_t<T>;
  const auto x = static_cast<U>(a), y = static_cast<U>(b);
  switch (kind) {
    case OpKind::kAdd: return static_cast<T>(x + y);
    case OpKind::kSub: return static_cast<T>(x - y);
    case OpKind::kMul: return static_cast<T>(x * y);
    case OpKind::kDiv: return b == 0 ? 0 : b == -1 ? static_cast<T>(U{0} - x) : a / b;
    case OpKind::kMaximum: return std::max(a, b);
    case OpKind::kPlumbFmod: return Remainder(a, b);
    case OpKind::kPlumbMod: return Remainder(a, b) != 0 && (a < 0) != (b < 0) ? Remainder(a, b) + b : Remainder(a, b);
    default: return std::min(a, b);
  }
}

template <class T>
void CombineAll(OpKind kind, const Tensor& b, Tensor* y) {
  for (int64_t i = 0; i < y->NumElements(); ++i) y->data<T>()[i] = Combine(kind, y->data<T>()[i], b.data<T>()[i]);
}

}  // namespace

Result<Tensor> KnownBinary(OpKind kind, const BlobInfo& a, const BlobInfo& b, const Shape& out) {
  const bool wide = a.dtype == DType::kI64;
  if (!Evaluates(kind) || a.dtype != b.dtype || (!wide && a.dtype != DType::kI32)) return Tensor();
  if (!HasHostValue(a) || !HasHostValue(b) || out.NumElements() > kMaxHostValues) return Tensor();
  PLUMB_ASSIGN_OR_RETURN(Tensor y, ApplyMap(BroadcastMap(a.shape, out), a.value));
  PLUMB_ASSIGN_OR_RETURN(const Tensor right, ApplyMap(BroadcastMap(b.shape, out), b.value));
  if (wide) {
    CombineAll<int64_t>(kind, right, &y);
  } else {
    CombineAll<int32_t>(kind, right, &y);
  }
  return y;
}

}  // namespace plumb
