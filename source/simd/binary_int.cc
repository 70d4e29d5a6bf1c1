// The integer halves of binary.def's rows: defined for every operand (wrap-around, x / 0 = 0, MIN / -1 = MIN).
#include <limits>
#include <type_traits>

#include "simd/broadcast.h"

namespace plumb::simd {
namespace {

template <class T>
std::make_unsigned_t<T> Bits(T value) {
  return static_cast<std::make_unsigned_t<T>>(value);
}

template <class T>
T Wrap(std::make_unsigned_t<T> bits) {
  return static_cast<T>(bits);
}

template <class T>
T Divide(T a, T b) {
  if (b == 0) return 0;
  if (b == -1) return Wrap<T>(0 - Bits(a));
  return a / b;
}

// a^b by squaring, wrapping round; a negative exponent truncates to 0 except for the bases 1 and -1.
template <class T>
T IntegerPower(T a, T b) {
  if (b < 0) return a == 1 ? T{1} : (a == -1 ? (b % 2 == 0 ? T{1} : T{-1}) : T{0});
  std::make_unsigned_t<T> base = Bits(a), result = 1;
  for (auto exponent = Bits(b); exponent != 0; exponent >>= 1) {
    if (exponent & 1) result *= base;
    base *= base;
  }
  return Wrap<T>(result);
}

#define PLUMB_SIMD_BINARY(name, vector, ...) \
  struct name##Integer {                     \
    template <class T>                       \
    T operator()(T a, T b) const {           \
      return __VA_ARGS__;                    \
    }                                        \
  };
#include "simd/binary.def"
#undef PLUMB_SIMD_BINARY

template <class Op, class T>
void Run(const Op& op, const BroadcastPlan& plan, const T* a, const T* b, T* dst, int64_t begin, int64_t end) {
  ForEachBroadcastRow(plan, begin, end, [&](int64_t a_at, int64_t b_at, int64_t dst_at, int64_t count) {
    for (int64_t i = 0; i < count; ++i) dst[dst_at + i] = op(a[a_at + i * plan.a_step], b[b_at + i * plan.b_step]);
  });
}

template <class T>
void RunByOp(BinaryOp op, const BroadcastPlan& plan, const T* a, const T* b, T* dst, int64_t begin, int64_t end) {
  switch (op) {
#define PLUMB_SIMD_BINARY(name, ...) \
  case BinaryOp::k##name:            \
    return Run(name##Integer(), plan, a, b, dst, begin, end);
#include "simd/binary.def"
#undef PLUMB_SIMD_BINARY
    case BinaryOp::kNumOps: return;
  }
}

}  // namespace

void Binary(BinaryOp op, const BroadcastPlan& plan, const int32_t* a, const int32_t* b, int32_t* dst, int64_t begin,
            int64_t end) {
  RunByOp(op, plan, a, b, dst, begin, end);
}

void Binary(BinaryOp op, const BroadcastPlan& plan, const int64_t* a, const int64_t* b, int64_t* dst, int64_t begin,
            int64_t end) {
  RunByOp(op, plan, a, b, dst, begin, end);
}

}  // namespace plumb::simd
