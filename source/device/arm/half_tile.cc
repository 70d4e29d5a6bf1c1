// SPDX-License-Identifier: Apache-2.0
// Compiled for ARMv8.2 with FP16 (CMakeLists.txt), so nothing is included whose inline functions the linker could hand
// to code that runs on every CPU.
#include "device/arm/half_tile.h"

#include <arm_neon.h>

namespace plumb::cpu {
namespace {

constexpr int kHalfLanes = 8;
static_assert(simd::kProductColumns == 2 * kHalfLanes);

template <int kRows>
struct HalfTile {
  float16x8_t run[kRows][2];  // since it was last added to `sum`
  float32x4_t sum[kRows][4];
};

template <int kRows>
inline __attribute__((always_inline)) void EndRun(HalfTile<kRows>& tile) {
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < 2; ++v) {
      tile.sum[r][2 * v] = vaddq_f32(tile.sum[r][2 * v], vcvt_f32_f16(vget_low_f16(tile.run[r][v])));
      tile.sum[r][2 * v + 1] = vaddq_f32(tile.sum[r][2 * v + 1], vcvt_high_f32_f16(tile.run[r][v]));
      tile.run[r][v] = vdupq_n_f16(0);
    }
  }
}

// sum + weights * lane kLane of x. GCC 12 makes vfmaq_laneq_f16 of lanes that are used twice a dup and two fmla. "x":
// the registers whose lanes of 16 bits an instruction can name.
template <int kLane>
inline __attribute__((always_inline)) void AddLane(float16x8_t weights, float16x8_t x, float16x8_t& sum) {
  __asm__("fmla %0.8h, %1.8h, %2.h[%3]" : "+w"(sum) : "w"(weights), "x"(x), "i"(kLane));
}

// Adds each row's factor, lane kLane of its x, times the weights.
template <int kLane, int kRows>
inline __attribute__((always_inline)) void AddHalfFactor(const float16x8_t (&x)[kRows], const float16_t* weights,
                                                         HalfTile<kRows>& tile) {
  const float16x8_t low = vld1q_f16(weights), high = vld1q_f16(weights + kHalfLanes);
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
    AddLane<kLane>(low, x[r], tile.run[r][0]);
    AddLane<kLane>(high, x[r], tile.run[r][1]);
  }
}

// `lanes` factors of each row.
template <int kRows>
inline __attribute__((always_inline)) void AddHalfFactors(const float16_t* const (&from)[kRows], int64_t lanes,
                                                          const float16_t* weights, int64_t step, int64_t* in_run,
                                                          HalfTile<kRows>& tile) {
  float16x8_t x[kRows];
  int64_t lane = 0;
  for (; lane + kHalfLanes <= lanes; lane += kHalfLanes, weights += kHalfLanes * step) {
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) x[r] = vld1q_f16(from[r] + lane);
    AddHalfFactor<0>(x, weights, tile);
    AddHalfFactor<1>(x, weights + step, tile);
    AddHalfFactor<2>(x, weights + 2 * step, tile);
    AddHalfFactor<3>(x, weights + 3 * step, tile);
    AddHalfFactor<4>(x, weights + 4 * step, tile);
    AddHalfFactor<5>(x, weights + 5 * step, tile);
    AddHalfFactor<6>(x, weights + 6 * step, tile);
    AddHalfFactor<7>(x, weights + 7 * step, tile);
    *in_run += kHalfLanes;
    if (*in_run >= kHalfRun) EndRun(tile), *in_run = 0;
  }
  for (; lane < lanes; ++lane, weights += step) {
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) x[r] = vld1q_dup_f16(from[r] + lane);
    AddHalfFactor<0>(x, weights, tile);
    ++*in_run;
  }
  if (*in_run >= kHalfRun) EndRun(tile), *in_run = 0;
}

// kBlocked: factors lie in channel blocks, weights in panels, so that the compiler knows both steps.
template <bool kBlocked, int kRows>
void SumRows(const HalfSource& source, float* sums) {
  HalfTile<kRows> tile;
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
    tile.run[r][0] = tile.run[r][1] = vdupq_n_f16(0);
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) tile.sum[r][v] = vdupq_n_f32(0);
  }
  int64_t in_run = 0;
  const int64_t lanes = kBlocked ? kHalfLanes : source.lanes;
  const int64_t step = kBlocked ? simd::kProductColumns : source.weights_step;
  for (int64_t t = 0; t < source.taps; ++t) {
    const auto* weights = reinterpret_cast<const float16_t*>(source.weights + source.at[t]);
    const float16_t* from[kRows];
    int64_t steps[kRows];
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      from[r] = reinterpret_cast<const float16_t*>(source.from[t * kRows + r]);
      steps[r] = source.step[t * kRows + r];
    }
    for (int64_t block = 0; block < source.blocks; ++block, weights += lanes * step) {
      AddHalfFactors(from, lanes, weights, step, &in_run, tile);
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) from[r] += steps[r];
    }
  }
  EndRun(tile);
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) vst1q_f32(sums + r * simd::kProductColumns + 4 * v, tile.sum[r][v]);
  }
}

template <bool kBlocked>
void SumAnyRows(int rows, const HalfSource& source, float* sums) {
  switch (rows) {
    case 1: return SumRows<kBlocked, 1>(source, sums);
    case 2: return SumRows<kBlocked, 2>(source, sums);
    case 3: return SumRows<kBlocked, 3>(source, sums);
    default: return SumRows<kBlocked, 4>(source, sums);
  }
}

}  // namespace

void HalfSums(int rows, const HalfSource& source, float* sums) {
  const bool blocked = source.lanes == kHalfLanes && source.weights_step == simd::kProductColumns;
  blocked ? SumAnyRows<true>(rows, source, sums) : SumAnyRows<false>(rows, source, sums);
}

}  // namespace plumb::cpu
