// SPDX-License-Identifier: Apache-2.0
// Transcendental functions on float vectors. Highway's kernels where they are accurate, with the special values they
// leave out (NaN, infinities, zero, overflow) put right; erf and erfc from own polynomials; sin, cos and power through
// float64, because their tolerance is relative to the result. Subnormal inputs and results are kept.
#if defined(PLUMB_SIMD_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef PLUMB_SIMD_MATH_INL_H_
#undef PLUMB_SIMD_MATH_INL_H_
#else
#define PLUMB_SIMD_MATH_INL_H_
#endif

#include <cmath>
#include <limits>

#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"
#include "simd/reduce-inl.h"
#include "simd/unary.h"

HWY_BEFORE_NAMESPACE();
namespace plumb::simd::HWY_NAMESPACE {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

HWY_INLINE V32 KeepNaN(V32 x, V32 y) { return IfThenElse(Eq(x, x), y, x); }

// The polynomial of x with these coefficients, the highest power's first. Not a loop over a list, which GCC leaves as
// one.
template <class... Floats>
HWY_INLINE V32 Horner(F32 d, V32 x, float highest, Floats... lower) {
  V32 sum = Set(d, highest);
  ((sum = MulAdd(sum, x, Set(d, lower))), ...);
  return sum;
}

// exp(89) is beyond float, so everything above gives infinity; without the clamp Highway's exponent would wrap round.
HWY_INLINE V32 ExpV(F32 d, V32 x) { return KeepNaN(x, Exp(d, Min(x, Set(d, 89.0f)))); }

HWY_INLINE V32 Expm1V(F32 d, V32 x) { return KeepNaN(x, Expm1(d, Min(x, Set(d, 89.0f)))); }

HWY_INLINE V32 LogV(F32 d, V32 x) {
  const V32 zero_or_nan = IfThenElse(Eq(x, Zero(d)), Set(d, -kInfinity), Set(d, NAN));
  const V32 y = IfThenElse(Gt(x, Zero(d)), Log(d, x), zero_or_nan);
  return IfThenElse(Eq(x, Set(d, kInfinity)), x, y);
}

// e^-a for 0 <= a < 87, where nothing overflows or is subnormal: 2^n e^r with |r| <= ln 2 / 2, the latter
// 1 + r + r^2 * polynomial(r), fitted to 3e-9.
HWY_INLINE V32 ExpOfMinus(F32 d, V32 a) {
  const V32 magic = Set(d, 12582912.0f);  // 1.5 * 2^23: a sum with it ends in the whole number n
  const V32 shifted = MulAdd(a, Set(d, -1.44269504f), magic);
  const V32 count = Sub(shifted, magic);
  V32 r = NegMulSub(count, Set(d, 0.693359375f), a);  // ln 2 in two parts, the first of ten bits
  r = MulAdd(count, Set(d, 2.12194440e-4f), r);
  const V32 square = Mul(r, r);  // by powers of it, because the schedulers of CPUs hold few of Horner's long chains
  const V32 high = MulAdd(square, Set(d, 1.38145394e-3f), Horner(d, r, 8.36874545e-3f, 4.1668389e-2f));
  const V32 sum = MulAdd(square, high, Horner(d, r, 1.66665211e-1f, 4.9999994e-1f));
  const V32 y = Add(MulAdd(sum, square, r), Set(d, 1.0f));
  const RebindToSigned<F32> whole;
  return BitCast(d, Add(BitCast(whole, y), ShiftLeft<23>(BitCast(whole, shifted))));
}

// 1 / (1 + e^-x) with e^-|x|, so that neither side overflows and small results keep their relative accuracy.
HWY_INLINE V32 SigmoidV(F32 d, V32 x) {
  const V32 one = Set(d, 1.0f);
  const V32 a = Abs(x);
  const V32 e = HWY_LIKELY(AllTrue(d, Lt(a, Set(d, 87.0f)))) ? ExpOfMinus(d, a) : ExpV(d, Neg(a));
  return Div(IfThenElse(Lt(x, Zero(d)), e, one), Add(one, e));
}

// log(1 + e^x) = max(x, 0) + log1p(e^-|x|)
HWY_INLINE V32 SoftplusV(F32 d, V32 x) {
  const V32 tail = Log1p(d, ExpV(d, Neg(Abs(x))));
  return KeepNaN(x, Add(IfThenElse(Gt(x, Zero(d)), x, Zero(d)), tail));
}

// (1 - e^-2|x|) / (1 + e^-2|x|), and below 0.6, where that loses digits, x + x^3 * polynomial(x^2), fitted to 3e-9;
// 1 - 2 u rounds to 1 from |x| = 9.02 on.
HWY_INLINE V32 TanhV(F32 d, V32 x) {
  const V32 one = Set(d, 1.0f);
  const V32 a = Min(Abs(x), Set(d, 9.5f)), s = Mul(x, x);
  const V32 e = ExpOfMinus(d, Add(a, a));
  const V32 large = CopySignToAbs(Div(Sub(one, e), Add(one, e)), x);
  const V32 sum = Horner(d, s, -5.89515765e-3f, 2.07959713e-2f, -5.37838302e-2f, 1.33319241e-1f, -3.3333298e-1f);
  return KeepNaN(x, IfThenElse(Lt(a, Set(d, 0.6f)), MulAdd(Mul(x, s), sum, x), large));
}

// erf(t) for |t| <= 1: t + t * polynomial(t^2), fitted to 3e-11; the leading t keeps the last rounding the only large
// one.
HWY_INLINE V32 ErfSmall(F32 d, V32 t) {
  const V32 s = Mul(t, t);
  const V32 sum = Horner(d, s, -9.66704465e-06f, 1.12659589e-4f, -8.48408032e-4f, 5.22103161e-3f, -2.68654302e-2f,
                         1.12837821e-1f, -3.76126379e-1f, 1.28379167e-1f);
  return MulAdd(t, sum, t);
}

// erfc(t) for 0.8 <= t <= 10.2 with relative accuracy: e^(-t^2) * erfcx(t), the square in two parts. erfcx(t)(1 + 2t)
// is a polynomial in (t - 2)/(t + 2), fitted to 4e-9.
HWY_INLINE V32 ErfcLarge(F32 d, V32 t) {
  const V32 two = Set(d, 2.0f);
  const V32 z = Div(Sub(t, two), Add(t, two));
  const V32 sum = Horner(d, z, -1.52460905e-3f, 1.12105988e-3f, 8.76443647e-3f, -8.01793393e-3f, -5.42250127e-2f,
                         1.64050788e-1f, -1.66030228e-1f, -9.27638263e-2f, 1.27697837f);
  const V32 square = Mul(t, t);
  const V32 rest = MulSub(t, t, square);  // exact with FMA, zero without: then the tail loses t^2 u
  const V32 e = HWY_LIKELY(AllTrue(d, Lt(square, Set(d, 87.0f)))) ? ExpOfMinus(d, square) : ExpV(d, Neg(square));
  return Div(Mul(NegMulAdd(e, rest, e), sum), MulAdd(two, t, Set(d, 1.0f)));
}

HWY_INLINE V32 ErfV(F32 d, V32 x) {
  const V32 t = Min(Abs(x), Set(d, 4.0f));  // erf(4) rounds to 1
  const V32 large = CopySignToAbs(Sub(Set(d, 1.0f), ErfcLarge(d, t)), x);
  return KeepNaN(x, IfThenElse(Lt(t, Set(d, 1.0f)), ErfSmall(d, x), large));
}

// x (1 + erf(x / sqrt 2)) / 2; the negative side through erfc, which keeps its relative accuracy.
HWY_INLINE V32 GeluV(F32 d, V32 x) {
  const V32 half = Set(d, 0.5f);
  const V32 u = Mul(x, Set(d, 0.707106781f));
  const V32 t = Min(Abs(u), Set(d, 10.5f));  // erfc(10.5) is below the smallest subnormal
  const V32 tail = Mul(half, ErfcLarge(d, t));
  const V32 large = IfThenElse(Lt(x, Zero(d)), tail, Sub(Set(d, 1.0f), tail));
  const V32 factor = IfThenElse(Lt(t, Set(d, 1.0f)), MulAdd(half, ErfSmall(d, u), half), large);
  return Mul(x, factor);
}

// Applies op to both halves of x in float64.
template <class Op>
HWY_INLINE V32 ThroughF64(F32 d, V32 x, const Op& op) {
  const Wide wide = Widen(d, x);
  return Narrow(d, {op(F64(), wide.low), op(F64(), wide.high)});
}

// One lane at a time with the C library, for arguments that the vector code does not cover.
template <class Op>
HWY_NOINLINE V32 LaneByLane(F32 d, V32 x, const Op& op) {
  HWY_ALIGN float lanes[kMaxLanes];
  Store(x, d, lanes);
  for (size_t i = 0; i < Lanes(d); ++i) lanes[i] = static_cast<float>(op(static_cast<double>(lanes[i])));
  return Load(d, lanes);
}

struct SinF64 {
  HWY_INLINE V64 operator()(F64 d, V64 x) const { return Sin(d, x); }
  HWY_INLINE double operator()(double x) const { return std::sin(x); }
};
struct CosF64 {
  HWY_INLINE V64 operator()(F64 d, V64 x) const { return Cos(d, x); }
  HWY_INLINE double operator()(double x) const { return std::cos(x); }
};

// Highway's float64 reduction by pi is used below 1e6; beyond, and for NaN and infinity, the C library.
template <class Op>
HWY_INLINE V32 Periodic(F32 d, V32 x, const Op& op) {
  if (HWY_UNLIKELY(!AllTrue(d, Lt(Abs(x), Set(d, 1e6f))))) return LaneByLane(d, x, op);
  return ThroughF64(d, x, op);
}
HWY_INLINE V32 SinV(F32 d, V32 x) { return Periodic(d, x, SinF64()); }
HWY_INLINE V32 CosV(F32 d, V32 x) { return Periodic(d, x, CosF64()); }

struct TanF64 {
  HWY_INLINE V64 operator()(F64 d, V64 x) const { return Div(Sin(d, x), Cos(d, x)); }
  HWY_INLINE double operator()(double x) const { return std::tan(x); }
};
HWY_INLINE V32 TanV(F32 d, V32 x) { return Periodic(d, x, TanF64()); }

struct AsinF64 {
  HWY_INLINE V64 operator()(F64 d, V64 x) const { return Asin(d, x); }
};
struct AcosF64 {
  HWY_INLINE V64 operator()(F64 d, V64 x) const { return Acos(d, x); }
};
struct AtanF64 {
  HWY_INLINE V64 operator()(F64 d, V64 x) const { return Atan(d, x); }
};
// Outside [-1, 1] the result is NaN.
HWY_INLINE V32 InUnitInterval(F32 d, V32 x, V32 y) { return IfThenElse(Le(Abs(x), Set(d, 1.0f)), y, Set(d, NAN)); }

// y = (x * scale + shift)^exponent: in float64, because shift may cancel and the exponent multiplies log's error.
struct PowerF64 {
  double scale, shift, exponent;

  HWY_INLINE V64 Base(F64 d, V64 x) const { return MulAdd(x, Set(d, scale), Set(d, shift)); }
  HWY_INLINE double operator()(double x) const { return std::pow(std::fma(x, scale, shift), exponent); }
  // REQUIRES: the base is positive and finite. e^+-700 exceeds what float can hold on either side.
  HWY_INLINE V64 operator()(F64 d, V64 x) const {
    const V64 y = Mul(Set(d, exponent), Log(d, Base(d, x)));
    return Exp(d, Min(Max(y, Set(d, -700.0)), Set(d, 700.0)));
  }
};

// Small integer exponents by multiplication, right for every base.
struct IntegerPowerF64 {
  PowerF64 power;
  HWY_INLINE V64 operator()(F64 d, V64 x) const {
    const V64 base = power.Base(d, x);
    const int exponent = static_cast<int>(power.exponent);
    V64 result = Set(d, 1.0);
    for (int i = 0; i < (exponent < 0 ? -exponent : exponent); ++i) result = Mul(result, base);
    return exponent < 0 ? Div(Set(d, 1.0), result) : result;
  }
};

struct BaseF64 {
  PowerF64 power;
  HWY_INLINE V64 operator()(F64 d, V64 x) const { return power.Base(d, x); }
};

HWY_INLINE V32 PowerV(F32 d, V32 x, const UnaryParams& p) {
  const bool plain_base = p.alpha == 1.0f && p.beta == 0.0f;
  if (plain_base && p.gamma == 2.0f) return Mul(x, x);
  if (plain_base && p.gamma == 3.0f) return Mul(Mul(x, x), x);
  const PowerF64 power{p.alpha, p.beta, p.gamma};
  const float rounded = std::round(p.gamma);
  if (p.gamma == rounded && std::fabs(rounded) <= 4.0f) return ThroughF64(d, x, IntegerPowerF64{power});
  const V32 base = ThroughF64(d, x, BaseF64{power});
  const auto plain = And(Gt(base, Zero(d)), Lt(base, Set(d, kInfinity)));
  if (HWY_UNLIKELY(!AllTrue(d, plain) || !std::isfinite(p.gamma))) return LaneByLane(d, x, power);
  return ThroughF64(d, x, power);
}

}  // namespace plumb::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // PLUMB_SIMD_MATH_INL_H_
