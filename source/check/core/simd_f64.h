// SPDX-License-Identifier: Apache-2.0
// Eight doubles at a time, for loops that are compiled once per instruction set (see PLUMB_FOR_EACH_ISA).
//
// Every variant does the same operations in the same order on eight lanes and rounds after each (fused multiply-add
// only where that changes nothing), so results do not depend on the machine. Included by .cc files of check/ only.
#ifndef PLUMB_CHECK_CORE_SIMD_F64_H_
#define PLUMB_CHECK_CORE_SIMD_F64_H_

#include <cmath>
#include <cstdint>

#include "base/cpu.h"

// Vectors wider than the baseline's registers are only passed between functions that are inlined: no ABI is involved.
#pragma GCC diagnostic ignored "-Wpsabi"

#define PLUMB_LANES_INLINE inline __attribute__((always_inline))

namespace plumb::lanes {

constexpr int kLanes = 8;

// A register of kWidth doubles; Memory is the same at any address, Narrow are as many floats, Bits as many integers.
template <int kWidth>
struct Register;
// clang-format off
template <> struct Register<2> { typedef double Type __attribute__((vector_size(16)));
                                 typedef double Memory __attribute__((vector_size(16), aligned(8)));
                                 typedef float Narrow __attribute__((vector_size(8), aligned(4)));
                                 typedef uint64_t Bits __attribute__((vector_size(16))); };
template <> struct Register<4> { typedef double Type __attribute__((vector_size(32)));
                                 typedef double Memory __attribute__((vector_size(32), aligned(8)));
                                 typedef float Narrow __attribute__((vector_size(16), aligned(4)));
                                 typedef uint64_t Bits __attribute__((vector_size(32))); };
template <> struct Register<8> { typedef double Type __attribute__((vector_size(64)));
                                 typedef double Memory __attribute__((vector_size(64), aligned(8)));
                                 typedef float Narrow __attribute__((vector_size(32), aligned(4)));
                                 typedef uint64_t Bits __attribute__((vector_size(64))); };
// clang-format on

// Calls f(r) for each register r of the eight lanes.
#define PLUMB_EACH_REGISTER _Pragma("GCC unroll 4") for (int r = 0; r < kLanes / kWidth; ++r)

template <int kWidth>
struct Lanes {
  using V = typename Register<kWidth>::Type;
  using Bits = typename Register<kWidth>::Bits;
  static constexpr int kRegisters = kLanes / kWidth;
  V v[kRegisters];

  static PLUMB_LANES_INLINE Lanes Load(const double* p) {
    Lanes x;
    PLUMB_EACH_REGISTER x.v[r] = *reinterpret_cast<const typename Register<kWidth>::Memory*>(p + r * kWidth);
    return x;
  }
  static PLUMB_LANES_INLINE Lanes Load(const float* p) {
    Lanes x;
    PLUMB_EACH_REGISTER x.v[r] = Widened(p + r * kWidth);
    return x;
  }
  static PLUMB_LANES_INLINE Lanes All(double value) {
    Lanes x;
    PLUMB_EACH_REGISTER x.v[r] = V{} + value;
    return x;
  }
  // GCC 12 converts with one instruction when it is written lane by lane, and in two halves otherwise.
  static PLUMB_LANES_INLINE V Widened(const float* n) {
    if constexpr (kWidth == 2) {
      return V{n[0], n[1]};
    } else if constexpr (kWidth == 4) {
      return V{n[0], n[1], n[2], n[3]};
    } else {
      return V{n[0], n[1], n[2], n[3], n[4], n[5], n[6], n[7]};
    }
  }
  PLUMB_LANES_INLINE void Store(double* p) const {
    PLUMB_EACH_REGISTER* reinterpret_cast<typename Register<kWidth>::Memory*>(p + r * kWidth) = v[r];
  }
};

template <int kWidth>
PLUMB_LANES_INLINE Lanes<kWidth> operator+(Lanes<kWidth> a, const Lanes<kWidth>& b) {
  PLUMB_EACH_REGISTER a.v[r] += b.v[r];
  return a;
}
template <int kWidth>
PLUMB_LANES_INLINE Lanes<kWidth> operator-(Lanes<kWidth> a, const Lanes<kWidth>& b) {
  PLUMB_EACH_REGISTER a.v[r] -= b.v[r];
  return a;
}
template <int kWidth>
PLUMB_LANES_INLINE Lanes<kWidth> operator*(Lanes<kWidth> a, const Lanes<kWidth>& b) {
  PLUMB_EACH_REGISTER a.v[r] *= b.v[r];
  return a;
}
template <int kWidth>
PLUMB_LANES_INLINE Lanes<kWidth> operator/(Lanes<kWidth> a, const Lanes<kWidth>& b) {
  PLUMB_EACH_REGISTER a.v[r] /= b.v[r];
  return a;
}
// sum + a * b where the products are exact, as those of two f32 values are: then fused multiply-add gives the same
// bits.
template <int kWidth>
PLUMB_LANES_INLINE Lanes<kWidth> AddExact(Lanes<kWidth> sum, const Lanes<kWidth>& a, const Lanes<kWidth>& b) {
  using V = typename Register<kWidth>::Type;
  if constexpr (kWidth == 2) {
    sum.v[0] += a.v[0] * b.v[0], sum.v[1] += a.v[1] * b.v[1], sum.v[2] += a.v[2] * b.v[2], sum.v[3] += a.v[3] * b.v[3];
  } else {
    PLUMB_EACH_REGISTER {
      const V x = a.v[r], y = b.v[r], s = sum.v[r];
      if constexpr (kWidth == 4) {
        sum.v[r] = V{std::fma(x[0], y[0], s[0]), std::fma(x[1], y[1], s[1]), std::fma(x[2], y[2], s[2]),
                     std::fma(x[3], y[3], s[3])};
      } else {
        sum.v[r] = V{std::fma(x[0], y[0], s[0]), std::fma(x[1], y[1], s[1]), std::fma(x[2], y[2], s[2]),
                     std::fma(x[3], y[3], s[3]), std::fma(x[4], y[4], s[4]), std::fma(x[5], y[5], s[5]),
                     std::fma(x[6], y[6], s[6]), std::fma(x[7], y[7], s[7])};
      }
    }
  }
  return sum;
}
template <int kWidth>
PLUMB_LANES_INLINE Lanes<kWidth> Abs(Lanes<kWidth> a) {
  using V = typename Register<kWidth>::Type;
  using Bits = typename Register<kWidth>::Bits;
  PLUMB_EACH_REGISTER a.v[r] = reinterpret_cast<V>(reinterpret_cast<Bits>(a.v[r]) & ~(uint64_t{1} << 63));
  return a;
}
// a where a > b, else b: the second one where one is NaN.
template <int kWidth>
PLUMB_LANES_INLINE Lanes<kWidth> Max(const Lanes<kWidth>& a, Lanes<kWidth> b) {
  PLUMB_EACH_REGISTER b.v[r] = a.v[r] > b.v[r] ? a.v[r] : b.v[r];
  return b;
}
template <int kWidth>
PLUMB_LANES_INLINE Lanes<kWidth> Min(const Lanes<kWidth>& a, Lanes<kWidth> b) {
  PLUMB_EACH_REGISTER b.v[r] = a.v[r] < b.v[r] ? a.v[r] : b.v[r];
  return b;
}
// value where x != 0, else 0.
template <int kWidth>
PLUMB_LANES_INLINE Lanes<kWidth> WhereNotZero(const Lanes<kWidth>& x, Lanes<kWidth> value) {
  using V = typename Register<kWidth>::Type;
  PLUMB_EACH_REGISTER value.v[r] = x.v[r] != 0 ? value.v[r] : V{};
  return value;
}
// value where x == 0, else 0.
template <int kWidth>
PLUMB_LANES_INLINE Lanes<kWidth> WhereZero(const Lanes<kWidth>& x, Lanes<kWidth> value) {
  using V = typename Register<kWidth>::Type;
  PLUMB_EACH_REGISTER value.v[r] = x.v[r] == 0 ? value.v[r] : V{};
  return value;
}
// The value rounded to f32. (Written lane by lane, GCC 12 leaves the rounding out.)
template <int kWidth>
PLUMB_LANES_INLINE Lanes<kWidth> Rounded(Lanes<kWidth> a) {
  using R = Register<kWidth>;
  PLUMB_EACH_REGISTER {
    a.v[r] = __builtin_convertvector(__builtin_convertvector(a.v[r], typename R::Narrow), typename R::Type);
  }
  return a;
}

inline double SumOf(const double* lane) {
  return ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]));
}
inline double MaxOf(const double* lane) {
  double max = lane[0];
  for (int i = 1; i < kLanes; ++i) max = lane[i] > max ? lane[i] : max;
  return max;
}

}  // namespace plumb::lanes

// Compiles SET(name, attribute, doubles per register) for each instruction set, and PLUMB_BEST_ISA(f) picks name::f at
// run time.
#if defined(__x86_64__)
#define PLUMB_FOR_EACH_ISA(SET)                           \
  SET(baseline, , 2)                                      \
  SET(avx2, __attribute__((target("arch=x86-64-v3"))), 4) \
  SET(avx512, __attribute__((target("arch=x86-64-v4"))), 8)
#define PLUMB_BEST_ISA(...)                                               \
  (::plumb::EffectiveIsa() == ::plumb::Isa::kAvx512 ? avx512::__VA_ARGS__ \
   : ::plumb::EffectiveIsa() == ::plumb::Isa::kAvx2 ? avx2::__VA_ARGS__   \
                                                    : baseline::__VA_ARGS__)
#else
#define PLUMB_FOR_EACH_ISA(SET) SET(baseline, , 2)
#define PLUMB_BEST_ISA(...) (baseline::__VA_ARGS__)
#endif

#endif  // PLUMB_CHECK_CORE_SIMD_F64_H_
