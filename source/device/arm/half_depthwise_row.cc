// SPDX-License-Identifier: Apache-2.0
// Compiled for ARMv8.2 with FP16, as half_tile.cc and under its rule.
#include "device/arm/half_depthwise_row.h"

#include <arm_neon.h>

namespace plumb::cpu {
namespace {

constexpr int kHalfBlock = 8;

struct Taps {
  int64_t begin, end;
};

// The taps of output o that lie in the map.
Taps TapsOf(const simd::DepthwiseAxis& a, int64_t o) {
  const int64_t first = o * a.stride - a.pad;
  int64_t begin = first >= 0 ? 0 : (-first + a.dilation - 1) / a.dilation;
  int64_t end = first >= a.in ? 0 : (a.in - first + a.dilation - 1) / a.dilation;
  begin = begin < a.kernel ? begin : a.kernel, end = end < a.kernel ? end : a.kernel;
  return {begin, end < begin ? begin : end};
}

// What follows the taps: bias and clamp in f32, rounded once.
struct HalfEnd {
  float32x4_t bias[2], low, high;
};

inline __attribute__((always_inline)) void StoreEnded(float16x8_t sum, const HalfEnd& end, float16_t* dst) {
  float32x4_t y[2] = {vaddq_f32(vcvt_f32_f16(vget_low_f16(sum)), end.bias[0]),
                      vaddq_f32(vcvt_high_f32_f16(sum), end.bias[1])};
#pragma GCC unroll 2
  for (int i = 0; i < 2; ++i) {  // comparisons with NaN are false: it passes
    y[i] = vbslq_f32(vcltq_f32(y[i], end.low), end.low, y[i]);
    y[i] = vbslq_f32(vcgtq_f32(y[i], end.high), end.high, y[i]);
  }
  vst1q_f16(dst, vcvt_high_f16_f32(vcvt_f16_f32(y[0]), y[1]));
}

struct HalfRow {
  const simd::DepthwiseAxis &h, &w;
  int64_t row;
  Taps down;
  const float16_t *src, *weights;
  HalfEnd end;
  float16_t* dst;
};

// kPixels outputs from column o on, which all have the taps `across`. kStride: the row's, or 0 for any.
template <int kPixels, int kStride>
inline __attribute__((always_inline)) void SumPixels(const HalfRow& row, const Taps& across, int64_t o) {
  const int64_t stride = kStride == 0 ? row.w.stride : kStride;
  const int64_t first = (o * stride - row.w.pad) * kHalfBlock;
  float16x8_t sum[kPixels];
#pragma GCC unroll 8
  for (int p = 0; p < kPixels; ++p) sum[p] = vdupq_n_f16(0);
  for (int64_t kh = row.down.begin; kh < row.down.end; ++kh) {
    const int64_t y = row.row * row.h.stride - row.h.pad + kh * row.h.dilation;
    const float16_t* from = row.src + y * row.w.in * kHalfBlock + first;
    const float16_t* weights = row.weights + kh * row.w.kernel * kHalfBlock;
    for (int64_t kw = across.begin; kw < across.end; ++kw) {
      const float16x8_t weight = vld1q_f16(weights + kw * kHalfBlock);
      const float16_t* at = from + kw * row.w.dilation * kHalfBlock;
#pragma GCC unroll 8
      for (int p = 0; p < kPixels; ++p) sum[p] = vfmaq_f16(sum[p], vld1q_f16(at + p * stride * kHalfBlock), weight);
    }
  }
#pragma GCC unroll 8
  for (int p = 0; p < kPixels; ++p) StoreEnded(sum[p], row.end, row.dst + (o + p) * kHalfBlock);
}

// [begin, end) are the columns whose windows stay inside. The last group of them moves back to end with them, and
// computes the same values again.
template <int kStride>
void RunRow(const HalfRow& row) {
  constexpr int kTogether = 8;
  const simd::DepthwiseAxis& w = row.w;
  int64_t begin = 0, end = w.out;
  while (begin < end && TapsOf(w, begin).begin > 0) ++begin;
  while (end > begin && TapsOf(w, end - 1).end < w.kernel) --end;
  const bool together = end - begin >= kTogether;
  for (int64_t o = 0; o < w.out; ++o) {
    if (together && o == begin) o = end;
    if (o < w.out) SumPixels<1, kStride>(row, TapsOf(w, o), o);
  }
  if (!together) return;
  for (int64_t next = begin; next < end; next += kTogether) {
    SumPixels<kTogether, kStride>(row, {0, w.kernel}, next + kTogether <= end ? next : end - kTogether);
  }
}

}  // namespace

void HalfDepthwiseRow(const simd::DepthwiseAxis& h, const simd::DepthwiseAxis& w, int64_t row, const uint16_t* src,
                      const uint16_t* weights, const float* bias, const simd::Clamp& clamp, uint16_t* dst) {
  const HalfEnd end{{vld1q_f32(bias), vld1q_f32(bias + 4)}, vdupq_n_f32(clamp.low), vdupq_n_f32(clamp.high)};
  const HalfRow all{h,
                    w,
                    row,
                    TapsOf(h, row),
                    reinterpret_cast<const float16_t*>(src),
                    reinterpret_cast<const float16_t*>(weights),
                    end,
                    reinterpret_cast<float16_t*>(dst)};
  if (w.stride == 1) return RunRow<1>(all);
  if (w.stride == 2) return RunRow<2>(all);
  RunRow<0>(all);
}

}  // namespace plumb::cpu
