// SPDX-License-Identifier: Apache-2.0
// The two vector loops of the statistics of floats (statistics.h), compiled once per instruction set.
#include "simd/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "dump/statistics_float.cc"
#include "hwy/foreach_target.h"  // before highway.h

#include <algorithm>

#include "base/half.h"
#include "dump/statistics.h"
#include "hwy/highway.h"
#include "simd/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace plumb::internal::HWY_NAMESPACE {

using namespace hwy::HWY_NAMESPACE;  // NOLINT(google-build-using-namespace): Highway's own pattern

using F32 = ScalableTag<float>;
using I32 = RebindToSigned<F32>;
using F32Half = Half<F32>;
using F64 = Rebind<double, F32Half>;

FloatPiece ScanPiece(const float* values, int64_t count) {
  const F32 d;
  const I32 di;
  const F32Half dh;
  const F64 dd;
  const int64_t lanes = static_cast<int64_t>(Lanes(d));
  const auto magnitude_mask = Set(di, 0x7FFFFFFF);
  const auto one = Set(di, 1);
  const auto smallest_normal = Set(di, 0x00800000);
  auto max_bits = Zero(di);
  auto zeros = Zero(di);
  auto tiny = Zero(di);
  auto low = Set(d, values[0]);
  auto high = low;
  auto sum_low = Zero(dd);
  auto sum_high = Zero(dd);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto x = LoadU(d, values + i);
    const auto bits = And(BitCast(di, x), magnitude_mask);
    max_bits = Max(max_bits, bits);
    zeros = Sub(zeros, VecFromMask(di, Lt(bits, one)));
    tiny = Sub(tiny, VecFromMask(di, Lt(bits, smallest_normal)));
    low = Min(low, x);
    high = Max(high, x);
    sum_low = Add(sum_low, PromoteTo(dd, LowerHalf(dh, x)));
    sum_high = Add(sum_high, PromoteTo(dd, UpperHalf(dh, x)));
  }
  FloatPiece piece;
  piece.max_magnitude_bits = static_cast<uint32_t>(GetLane(MaxOfLanes(di, max_bits)));
  piece.zeros = GetLane(SumOfLanes(di, zeros));
  piece.tiny = GetLane(SumOfLanes(di, tiny));
  piece.min = GetLane(MinOfLanes(d, low));
  piece.max = GetLane(MaxOfLanes(d, high));
  piece.sum = GetLane(SumOfLanes(dd, Add(sum_low, sum_high)));
  for (; i < count; ++i) {
    const uint32_t bits = FloatToBits(values[i]) & 0x7FFFFFFFu;
    piece.max_magnitude_bits = std::max(piece.max_magnitude_bits, bits);
    piece.zeros += bits == 0;
    piece.tiny += bits < 0x00800000u;
    piece.min = std::min(piece.min, values[i]);
    piece.max = std::max(piece.max, values[i]);
    piece.sum += values[i];
  }
  return piece;
}

double SquaredDistancesOf(const float* values, int64_t count, double mean) {
  const F32 d;
  const F32Half dh;
  const F64 dd;
  const int64_t lanes = static_cast<int64_t>(Lanes(d));
  const auto center = Set(dd, mean);
  auto sum_low = Zero(dd);
  auto sum_high = Zero(dd);
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto x = LoadU(d, values + i);
    const auto first = Sub(PromoteTo(dd, LowerHalf(dh, x)), center);
    const auto second = Sub(PromoteTo(dd, UpperHalf(dh, x)), center);
    sum_low = MulAdd(first, first, sum_low);
    sum_high = MulAdd(second, second, sum_high);
  }
  double sum = GetLane(SumOfLanes(dd, Add(sum_low, sum_high)));
  for (; i < count; ++i) sum += (values[i] - mean) * (values[i] - mean);
  return sum;
}

}  // namespace plumb::internal::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plumb::internal {

HWY_EXPORT(ScanPiece);
HWY_EXPORT(SquaredDistancesOf);

FloatPiece ScanFloats(const float* values, int64_t count) { return PLUMB_SIMD_CALL(ScanPiece)(values, count); }

double SquaredDistances(const float* values, int64_t count, double mean) {
  return PLUMB_SIMD_CALL(SquaredDistancesOf)(values, count, mean);
}

}  // namespace plumb::internal
#endif
