// SPDX-License-Identifier: Apache-2.0
// The Schubfach method (Raffaello Giulietti, "The Schubfach way to render doubles", 2020) for float32, in 64-bit lanes
// without a branch: with value = c * 2^q, one 64-bit approximation of 10^-k scales the value and both ends of its
// rounding interval, so that the interval holds one or two integers, or one multiple of ten; that integer times 10^k is
// the answer.
#include "tensor/shortest_digits.h"

#include "tensor/float_powers.h"

// Compiled once per instruction set: on x86 SSE4, AVX2 and AVX-512, as simd/targets.h explains.
#if defined(__x86_64__) || defined(__i386__)
#define HWY_BASELINE_TARGETS (HWY_SSE4 | (HWY_BASELINE_AVX2) | (HWY_BASELINE_AVX3))
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL | HWY_SCALAR | HWY_EMU128)
#elif defined(__aarch64__)
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)  // whose vectors cannot be members
#endif
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/shortest_digits.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef PLUMB_FORMAT_TENSOR_SHORTEST_DIGITS_ONCE
#define PLUMB_FORMAT_TENSOR_SHORTEST_DIGITS_ONCE
namespace plumb {
alignas(64) constexpr FloatPowers kFloatPowers = MakeFloatPowers();
}  // namespace plumb
#endif

HWY_BEFORE_NAMESPACE();
namespace plumb {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using D64 = hn::ScalableTag<uint64_t>;
using V64 = hn::Vec<D64>;
using M64 = hn::Mask<D64>;

HWY_INLINE V64 Const(uint64_t value) { return hn::Set(D64(), value); }

// Low 32 bits times low 32 bits.
HWY_INLINE V64 Mul32(V64 a, V64 b) {
  const hn::Repartition<uint32_t, D64> d32;
  return hn::MulEven(hn::BitCast(d32, a), hn::BitCast(d32, b));
}

// Signed comparison is faster; no number here reaches 2^63.
HWY_INLINE M64 Greater(V64 a, V64 b) {
  const hn::RebindToSigned<D64> di;
  return hn::RebindMask(D64(), hn::BitCast(di, a) > hn::BitCast(di, b));
}
HWY_INLINE V64 OneIf(M64 mask) { return hn::IfThenElseZero(mask, Const(1)); }

// The part above 2^64 of power * scaled, with the lost bits gathered in the last one so that comparisons stay right.
HWY_INLINE V64 ScaleToOdd(V64 power, V64 scaled) {
  const V64 product = hn::Add(Mul32(hn::ShiftRight<32>(power), scaled), hn::ShiftRight<32>(Mul32(power, scaled)));
  const M64 lost = Greater(hn::And(product, Const(0xFFFFFFFF)), Const(1));
  return hn::Or(hn::ShiftRight<32>(product), OneIf(lost));
}

// Eight decimal digits as bytes, the first in the lowest byte; value < 10^8.
HWY_INLINE V64 EightDigits(V64 value) {
  const hn::Repartition<uint32_t, D64> d32;
  const hn::Repartition<uint16_t, D64> d16;
  const V64 high = hn::ShiftRight<45>(Mul32(value, Const(3518437209u)));  // value / 10^4
  const V64 low = hn::Sub(value, Mul32(high, Const(10000)));
  const auto fours = hn::BitCast(d32, hn::Or(high, hn::ShiftLeft<32>(low)));
  const auto hundreds = hn::ShiftRight<20>(hn::Mul(fours, hn::Set(d32, 10486)));
  const auto units = hn::Sub(fours, hn::Mul(hundreds, hn::Set(d32, 100)));
  const auto pairs = hn::BitCast(d16, hn::Add(hn::ShiftLeft<16>(units), hundreds));
  const auto tens = hn::ShiftRight<10>(hn::Mul(pairs, hn::Set(d16, 103)));
  const auto ones = hn::Sub(pairs, hn::Mul(tens, hn::Set(d16, 10)));
  return hn::BitCast(D64(), hn::Add(hn::ShiftLeft<8>(ones), tens));
}

struct Decimals {
  V64 digits;    // at most 9 digits
  V64 exponent;  // value = digits * 10^(exponent - kDecimalBias)
};

HWY_INLINE Decimals ShortestDecimals(V64 magnitude) {
  const D64 d;
  const hn::RebindToSigned<D64> di;
  const V64 fraction = hn::And(magnitude, Const(0x7FFFFF));
  const V64 c = hn::Or(fraction, Const(0x800000));
  const V64 closer = OneIf(hn::Eq(fraction, hn::Zero(d)));
  const auto index = hn::BitCast(di, hn::Or(hn::ShiftRight<23>(magnitude), hn::ShiftLeft<8>(closer)));
  const V64 power = hn::GatherIndex(d, kFloatPowers.power.data(), index);
  const V64 exponent = hn::GatherIndex(d, kFloatPowers.exponent.data(), index);
  const V64 shift = hn::And(exponent, Const(0xFF));
  const V64 four = hn::ShiftLeft<2>(c);
  const V64 odd = hn::And(c, Const(1));  // an even significand also owns the ends of its interval
  const V64 low = hn::Add(ScaleToOdd(power, hn::Shl(hn::Add(hn::Sub(four, Const(2)), closer), shift)), odd);
  const V64 middle = ScaleToOdd(power, hn::Shl(four, shift));
  const V64 high = hn::Sub(ScaleToOdd(power, hn::Shl(hn::Add(four, Const(2)), shift)), odd);

  const V64 s = hn::ShiftRight<2>(middle);
  const V64 tens = hn::ShiftRight<35>(Mul32(s, Const(3435973837u)));  // s / 10
  const V64 forty = hn::Add(hn::ShiftLeft<5>(tens), hn::ShiftLeft<3>(tens));
  const M64 tens_outside = Greater(low, forty);
  const M64 tens_above = hn::Not(Greater(hn::Add(forty, Const(40)), high));
  const M64 use_tens = hn::Not(hn::Xor(tens_outside, tens_above));

  const V64 s4 = hn::ShiftLeft<2>(s);
  const M64 outside = Greater(low, s4);
  const M64 above = hn::Not(Greater(hn::Add(s4, Const(4)), high));
  const M64 nearer_above = Greater(middle, hn::Sub(hn::Add(s4, Const(2)), hn::And(s, Const(1))));  // ties to even
  const V64 up = hn::IfThenElse(hn::Xor(outside, above), OneIf(nearer_above), OneIf(above));
  return {hn::IfThenElse(use_tens, hn::Add(tens, OneIf(tens_above)), hn::Add(s, up)),
          hn::Add(hn::ShiftRight<8>(exponent), OneIf(use_tens))};
}

void Compute(const float* HWY_RESTRICT values, ShortestDigits* HWY_RESTRICT out) {
  const D64 d;
  const hn::Rebind<uint32_t, D64> d32;
  for (size_t i = 0; i < ShortestDigits::kBatch; i += hn::Lanes(d)) {
    const auto bits = hn::LoadU(d32, reinterpret_cast<const uint32_t*>(values) + i);
    const V64 magnitude = hn::And(hn::PromoteTo(d, bits), Const(0x7FFFFFFF));
    const Decimals decimals = ShortestDecimals(magnitude);
    // To nine digits: there are six at least.
    const M64 below7 = Greater(Const(10000000), decimals.digits);
    V64 nine = hn::IfThenElse(below7, Mul32(decimals.digits, Const(100)), decimals.digits);
    V64 point = hn::Sub(decimals.exponent, hn::IfThenElseZero(below7, Const(2)));
    const M64 below8 = Greater(Const(100000000), nine);
    nine = hn::IfThenElse(below8, Mul32(nine, Const(10)), nine);
    point = hn::Add(hn::Sub(point, OneIf(below8)), Const(9 + ShortestDigits::kPointBias - FloatPowers::kDecimalBias));
    const M64 zero = hn::Eq(magnitude, hn::Zero(d));
    nine = hn::IfThenElse(zero, hn::Zero(d), nine);
    point = hn::IfThenElse(zero, Const(1 + ShortestDigits::kPointBias), point);

    const V64 first = hn::ShiftRight<57>(Mul32(nine, Const(1441151881)));  // nine / 10^8
    const V64 rest = EightDigits(hn::Sub(nine, Mul32(first, Const(100000000))));
    // Neither zero nor from the smallest normal float up to 2^24.
    const M64 normal = hn::And(Greater(magnitude, Const(0x7FFFFF)), Greater(Const(0x4B800000), magnitude));
    const V64 head = hn::Or(first, hn::ShiftLeft<8>(point));
    hn::StoreU(rest, d, out->rest + i);
    hn::StoreU(hn::IfThenElse(hn::Or(normal, zero), head, Const(ShortestDigits::kNone)), d, out->head + i);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace plumb
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plumb {
HWY_EXPORT(Compute);

void ComputeShortestDigits(const float* values, ShortestDigits* digits) {
  HWY_DYNAMIC_DISPATCH(Compute)(values, digits);
}
}  // namespace plumb
#endif
