// SPDX-License-Identifier: Apache-2.0
// Depthwise convolution: eight neighbouring outputs at once, so that each weight is loaded once for eight multiply-adds
// and the additions do not wait for each other. Kernels three or five wide (nearly all) also load each input column
// only once.
#include "simd/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd/depthwise.cc"
#include "hwy/foreach_target.h"  // before highway.h

#include <algorithm>

#include "hwy/highway.h"
#include "simd/depthwise.h"
#include "simd/dispatch.h"
#include "simd/loop-inl.h"

HWY_BEFORE_NAMESPACE();
namespace plumb::simd::HWY_NAMESPACE {

// What all pixels of one output row and one part of the block share.
struct DepthwiseRow {
  DepthwiseAxis h, w;
  const float* src;  // the input plane
  const float* weights;
  const float* bias;
  Clamp clamp;
  int64_t first_row;           // the input row of the first tap, may be negative
  int64_t tap_begin, tap_end;  // taps of the column whose rows are inside the input
};

// kPixels outputs from column o on; taps [left, right) of each row. Without the pragmas GCC keeps the accumulators in
// memory at -O2, at half the speed.
template <int kBlock, int kPixels, class D>
HWY_INLINE void DepthwisePixels(D d, const DepthwiseRow& row, int64_t o, int64_t left, int64_t right, float* dst) {
  const int64_t step = row.w.stride * kBlock, tap_step = row.w.dilation * kBlock;
  Vec<D> sum[kPixels];
#pragma GCC unroll 8
  for (int p = 0; p < kPixels; ++p) sum[p] = LoadU(d, row.bias);
  for (int64_t kh = row.tap_begin; kh < row.tap_end; ++kh) {
    const int64_t y = row.first_row + kh * row.h.dilation;
    const float* from = row.src + (y * row.w.in + o * row.w.stride - row.w.pad) * kBlock;
    const float* weights = row.weights + kh * row.w.kernel * kBlock;
    for (int64_t kw = left; kw < right; ++kw) {
      const Vec<D> weight = LoadU(d, weights + kw * kBlock);
#pragma GCC unroll 8
      for (int p = 0; p < kPixels; ++p) {
        sum[p] = MulAdd(LoadU(d, from + p * step + kw * tap_step), weight, sum[p]);
      }
    }
  }
  const Vec<D> low = Set(d, row.clamp.low), high = Set(d, row.clamp.high);
#pragma GCC unroll 8
  for (int p = 0; p < kPixels; ++p) StoreU(ClampV(sum[p], low, high), d, dst + (o + p) * kBlock);
}

// One output whose window may leave the row.
template <int kBlock, class D>
HWY_INLINE void DepthwiseBorder(D d, const DepthwiseRow& row, int64_t o, float* dst) {
  const int64_t first = o * row.w.stride - row.w.pad, dilation = row.w.dilation;
  const int64_t left = first >= 0 ? 0 : std::min(row.w.kernel, (-first + dilation - 1) / dilation);
  const int64_t right = first >= row.w.in ? 0 : std::min(row.w.kernel, (row.w.in - first + dilation - 1) / dilation);
  DepthwisePixels<kBlock, 1>(d, row, o, left, right, dst);
}

// A row of any kernel: [begin, end) are the columns whose windows stay inside.
template <int kBlock, class D>
HWY_NOINLINE void DepthwiseColumns(D d, const DepthwiseRow& row, float* dst) {
  const DepthwiseAxis& w = row.w;
  const int64_t begin = std::min(w.out, (w.pad + w.stride - 1) / w.stride);
  const int64_t room = w.in + w.pad - ((w.kernel - 1) * w.dilation + 1);  // the last column that a window may start at
  const int64_t end = std::max(begin, std::min(w.out, room < 0 ? 0 : room / w.stride + 1));
  int64_t o = 0;
  for (; o < begin; ++o) DepthwiseBorder<kBlock>(d, row, o, dst);
  for (; o + 8 <= end; o += 8) DepthwisePixels<kBlock, 8>(d, row, o, 0, w.kernel, dst);
  for (; o < end; ++o) DepthwisePixels<kBlock, 1>(d, row, o, 0, w.kernel, dst);
  for (; o < w.out; ++o) DepthwiseBorder<kBlock>(d, row, o, dst);
}

// kPixels outputs of a kernel kTaps wide, dilation 1: each input column is loaded once and serves the up to kTaps
// outputs that it belongs to. Of the kEdge columns at either end those outside the row count as zero.
template <int kBlock, int kTaps, int kStride, int kPixels, int kEdge, class D>
HWY_INLINE void WidePixels(D d, const DepthwiseRow& row, int64_t o, float* dst) {
  constexpr int kColumns = (kPixels - 1) * kStride + kTaps;
  HWY_ALIGN static constexpr float kZeros[kBlock] = {};
  Vec<D> sum[kPixels];
#pragma GCC unroll 8
  for (int p = 0; p < kPixels; ++p) sum[p] = LoadU(d, row.bias);
  const int64_t first = o * kStride - row.w.pad, row_step = row.h.dilation * row.w.in * kBlock;
  const float* from = row.src + (row.first_row * row.w.in + first) * kBlock + row.tap_begin * row_step;
  const float* weights = row.weights + row.tap_begin * kTaps * kBlock;
  for (int64_t kh = row.tap_begin; kh < row.tap_end; ++kh, from += row_step, weights += kTaps * kBlock) {
    Vec<D> weight[kTaps];
#pragma GCC unroll 5
    for (int kw = 0; kw < kTaps; ++kw) weight[kw] = LoadU(d, weights + kw * kBlock);
#pragma GCC unroll 24
    for (int c = 0; c < kColumns; ++c) {
      const bool edge = c < kEdge || c >= kColumns - kEdge;
      const bool outside = edge && static_cast<uint64_t>(first + c) >= static_cast<uint64_t>(row.w.in);
      const Vec<D> x = LoadU(d, outside ? kZeros : from + c * kBlock);
#pragma GCC unroll 5
      for (int kw = kTaps - 1; kw >= 0; --kw) {
        const int p = (c - kw) / kStride;
        if (c >= kw && (c - kw) % kStride == 0 && p < kPixels) sum[p] = MulAdd(x, weight[kw], sum[p]);
      }
    }
  }
  const Vec<D> low = Set(d, row.clamp.low), high = Set(d, row.clamp.high);
#pragma GCC unroll 8
  for (int p = 0; p < kPixels; ++p) StoreU(ClampV(sum[p], low, high), d, dst + (o + p) * kBlock);
}

// Outputs one by one, whatever of their windows lies outside.
template <int kBlock, int kTaps, int kStride, class D>
HWY_NOINLINE void WidePixelsApart(D d, const DepthwiseRow& row, int64_t begin, int64_t end, float* dst) {
  for (int64_t o = begin; o < end; ++o) WidePixels<kBlock, kTaps, kStride, 1, kTaps>(d, row, o, dst);
}

// A row in groups. The last one moves back to end with the row, and computes the same values again.
template <int kBlock, int kTaps, int kStride, int kPixels, class D>
HWY_INLINE void WideGroups(D d, const DepthwiseRow& row, float* dst) {
  constexpr int kColumns = (kPixels - 1) * kStride + kTaps, kHalf = kTaps / 2;
  for (int64_t next = 0; next < row.w.out; next += kPixels) {
    const int64_t o = std::min(next, row.w.out - kPixels), before = row.w.pad - o * kStride;
    const int64_t outside = std::max(before, kColumns - before - row.w.in);  // columns at one end
    if (outside <= 0) {
      WidePixels<kBlock, kTaps, kStride, kPixels, 0>(d, row, o, dst);
    } else if (outside <= kHalf) {
      WidePixels<kBlock, kTaps, kStride, kPixels, kHalf>(d, row, o, dst);
    } else {
      WidePixelsApart<kBlock, kTaps, kStride>(d, row, o, o + kPixels, dst);
    }
  }
}

// Groups of eight, or of seven where fewer outputs are computed: 7, 14 and 28, which most networks end with.
template <int kBlock, int kTaps, int kStride, class D>
HWY_NOINLINE void WideColumns(D d, const DepthwiseRow& row, float* dst) {
  const int64_t out = row.w.out, sevens = (out + 6) / 7, eights = (out + 7) / 8;
  if (out < 7) return WidePixelsApart<kBlock, kTaps, kStride>(d, row, 0, out, dst);
  if (sevens * 7 < eights * 8) return WideGroups<kBlock, kTaps, kStride, 7>(d, row, dst);
  WideGroups<kBlock, kTaps, kStride, 8>(d, row, dst);
}

template <int kBlock, class D>
HWY_INLINE void AnyColumns(D d, const DepthwiseRow& row, float* dst) {
  if (!IsWideDepthwise(row.w)) return DepthwiseColumns<kBlock>(d, row, dst);
  if (row.w.kernel == 3)
    return row.w.stride == 1 ? WideColumns<kBlock, 3, 1>(d, row, dst) : WideColumns<kBlock, 3, 2>(d, row, dst);
  row.w.stride == 1 ? WideColumns<kBlock, 5, 1>(d, row, dst) : WideColumns<kBlock, 5, 2>(d, row, dst);
}

template <int kBlock>
void DepthwiseRows(const DepthwiseAxis& h, const DepthwiseAxis& w, const float* src, const float* weights,
                   const float* bias, const Clamp& clamp, float* dst, int64_t row_begin, int64_t row_end) {
  const CappedTag<float, kBlock> d;
  constexpr float kZeros[kBlock] = {};
  for (int64_t o = row_begin; o < row_end; ++o, dst += w.out * kBlock) {
    const int64_t first = o * h.stride - h.pad;
    const int64_t top = first >= 0 ? 0 : std::min(h.kernel, (-first + h.dilation - 1) / h.dilation);
    const int64_t bottom = first >= h.in ? 0 : std::min(h.kernel, (h.in - first + h.dilation - 1) / h.dilation);
    for (size_t part = 0; part < kBlock; part += Lanes(d)) {
      const float* start = (bias == nullptr ? kZeros : bias) + part;
      const DepthwiseRow row{h, w, src + part, weights + part, start, clamp, first, top, std::max(top, bottom)};
      AnyColumns<kBlock>(d, row, dst + part);
    }
  }
}

void RunDepthwise(const DepthwiseAxis& h, const DepthwiseAxis& w, int block, const float* src, const float* weights,
                  const float* bias, const Clamp& clamp, float* dst, int64_t row_begin, int64_t row_end) {
  if (block == 8) return DepthwiseRows<8>(h, w, src, weights, bias, clamp, dst, row_begin, row_end);
  DepthwiseRows<16>(h, w, src, weights, bias, clamp, dst, row_begin, row_end);
}

}  // namespace plumb::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plumb::simd {

HWY_EXPORT(RunDepthwise);

void DepthwisePlane(const DepthwiseAxis& h, const DepthwiseAxis& w, int block, const float* src, const float* weights,
                    const float* bias, const Clamp& clamp, float* dst, int64_t row_begin, int64_t row_end) {
  PLUMB_SIMD_CALL(RunDepthwise)(h, w, block, src, weights, bias, clamp, dst, row_begin, row_end);
}

}  // namespace plumb::simd
#endif
