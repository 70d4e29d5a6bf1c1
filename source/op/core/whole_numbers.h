// SPDX-License-Identifier: Apache-2.0
// Arithmetic of i32 and i64 that is defined for every operand: it wraps round, x / 0 and x mod 0 are 0. The functions
// of op/binary.def's expressions of whole numbers.
#ifndef PLUMB_OP_CORE_WHOLE_NUMBERS_H_
#define PLUMB_OP_CORE_WHOLE_NUMBERS_H_

#include <type_traits>

#include "op/core/op_kind.h"

namespace plumb::whole {

template <class T>
std::make_unsigned_t<T> Bits(T value) {
  return static_cast<std::make_unsigned_t<T>>(value);
}

template <class U>
std::make_signed_t<U> Wrap(U bits) {
  return static_cast<std::make_signed_t<U>>(bits);
}

// Truncates; the lowest value by -1 is that value.
template <class T>
T Quotient(T a, T b) {
  if (b == 0) return 0;
  if (b == -1) return Wrap(0 - Bits(a));
  return a / b;
}

// With the sign of a.
template <class T>
T Remainder(T a, T b) {
  return b == 0 || b == -1 ? T{0} : a % b;
}

// With the sign of b.
template <class T>
T FloorRemainder(T a, T b) {
  const T rest = Remainder(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

// a^b by squaring; a negative exponent truncates to 0 except for the bases 1 and -1.
template <class T>
T WholePower(T a, T b) {
  if (b < 0) return a == 1 ? T{1} : (a == -1 ? (b % 2 == 0 ? T{1} : T{-1}) : T{0});
  std::make_unsigned_t<T> base = Bits(a), result = 1;
  for (auto exponent = Bits(b); exponent != 0; exponent >>= 1) {
    if (exponent & 1) result *= base;
    base *= base;
  }
  return Wrap(result);
}

// Calls use(f), where f(a, b) is the row's function of two T; false when `kind` has no row in op/binary.def.
template <class T, class Use>
bool WithBinary(OpKind kind, const Use& use) {
  switch (kind) {
#define PLUMB_BINARY(name, min_inputs, fill, cpu, whole, ...) \
  case OpKind::k##name:                                       \
    use([](T a, T b) -> T { return whole; });                 \
    return true;
#include "op/binary.def"
#undef PLUMB_BINARY
    default: return false;
  }
}

}  // namespace plumb::whole

#endif  // PLUMB_OP_CORE_WHOLE_NUMBERS_H_
