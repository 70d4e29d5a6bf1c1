// Depthwise convolution: eight neighbouring outputs at once, so that each weight is loaded once for eight multiply-adds
// and the additions do not wait for each other. Kernels three wide (nearly all) also load each input column only once.
// X86 keeps oneDNN for depthwise convolutions unless its kernel list says otherwise.
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

// kPixels outputs of a kernel three wide, dilation 1: each input column is loaded once and serves the up to three
// outputs that it belongs to. kCheck: columns outside the row count as zero.
template <int kBlock, int kPixels, int kStride, bool kCheck, class D>
HWY_INLINE void ThreeWidePixels(D d, const DepthwiseRow& row, int64_t o, float* dst) {
  Vec<D> sum[kPixels];
#pragma GCC unroll 8
  for (int p = 0; p < kPixels; ++p) sum[p] = LoadU(d, row.bias);
  const int64_t first = o * kStride - row.w.pad;
  for (int64_t kh = row.tap_begin; kh < row.tap_end; ++kh) {
    const float* from = row.src + ((row.first_row + kh * row.h.dilation) * row.w.in + first) * kBlock;
    const float* weights = row.weights + kh * 3 * kBlock;
    const Vec<D> weight[3] = {LoadU(d, weights), LoadU(d, weights + kBlock), LoadU(d, weights + 2 * kBlock)};
#pragma GCC unroll 24
    for (int c = 0; c < (kPixels - 1) * kStride + 3; ++c) {
      const bool inside = !kCheck || (first + c >= 0 && first + c < row.w.in);
      const Vec<D> x = inside ? LoadU(d, from + c * kBlock) : Zero(d);
#pragma GCC unroll 3
      for (int kw = 2; kw >= 0; --kw) {
        const int p = (c - kw) / kStride;
        if (c >= kw && (c - kw) % kStride == 0 && p < kPixels) sum[p] = MulAdd(x, weight[kw], sum[p]);
      }
    }
  }
  const Vec<D> low = Set(d, row.clamp.low), high = Set(d, row.clamp.high);
#pragma GCC unroll 8
  for (int p = 0; p < kPixels; ++p) StoreU(ClampV(sum[p], low, high), d, dst + (o + p) * kBlock);
}

// A row of a kernel three wide, in groups of eight, or of seven on the maps of 7 and 14 pixels that end most
// networks. The last group moves back to end with the row, and computes the same values again.
template <int kBlock, int kPixels, int kStride, class D>
HWY_INLINE void ThreeWideGroups(D d, const DepthwiseRow& row, float* dst) {
  for (int64_t next = 0; next < row.w.out; next += kPixels) {
    const int64_t o = std::min(next, row.w.out - kPixels), first = o * kStride - row.w.pad;
    if (kPixels > 1 && first >= 0 && first + (kPixels - 1) * kStride + 3 <= row.w.in) {
      ThreeWidePixels<kBlock, kPixels, kStride, false>(d, row, o, dst);
    } else {
      ThreeWidePixels<kBlock, kPixels, kStride, true>(d, row, o, dst);
    }
  }
}

template <int kBlock, int kStride, class D>
HWY_NOINLINE void ThreeWideColumns(D d, const DepthwiseRow& row, float* dst) {
  if (row.w.out == 7 || row.w.out == 14) return ThreeWideGroups<kBlock, 7, kStride>(d, row, dst);
  if (row.w.out >= 8) return ThreeWideGroups<kBlock, 8, kStride>(d, row, dst);
  ThreeWideGroups<kBlock, 1, kStride>(d, row, dst);
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
      if (w.kernel == 3 && w.dilation == 1 && w.stride == 1) {
        ThreeWideColumns<kBlock, 1>(d, row, dst + part);
      } else if (w.kernel == 3 && w.dilation == 1 && w.stride == 2) {
        ThreeWideColumns<kBlock, 2>(d, row, dst + part);
      } else {
        DepthwiseColumns<kBlock>(d, row, dst + part);
      }
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
