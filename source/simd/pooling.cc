// SPDX-License-Identifier: Apache-2.0
// Pooling in two passes per output row: the window's rows are reduced into a line of columns (padded with the neutral
// value, so that no window is cut), then each output reduces `kernel` neighbours of that line. A 3x3 window costs six
// loads per output at stride 1 instead of nine, and no border case is left in the inner loops.
#include "simd/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd/pooling.cc"
#include "hwy/foreach_target.h"  // before highway.h

#include <algorithm>
#include <limits>

#include "hwy/highway.h"
#include "simd/dispatch.h"
#include "simd/loop-inl.h"
#include "simd/pooling.h"
#include "simd/reduce-inl.h"

#ifndef PLUMB_DEVICE_SIMD_POOLING_ONCE_
#define PLUMB_DEVICE_SIMD_POOLING_ONCE_
namespace plumb::simd {

constexpr int64_t kLineFloats = 4096;  // 16 KiB: a line of columns stays in the first-level cache

struct PoolRange {
  int64_t begin, end;  // inside the input
  int64_t window;      // what count_include_pad divides by
};

inline PoolRange RangeOf(const PoolAxis& axis, int64_t o) {
  if (axis.adaptive) {
    const int64_t begin = o * axis.in / axis.out;
    const int64_t end = ((o + 1) * axis.in + axis.out - 1) / axis.out;
    return {begin, end, end - begin};
  }
  const int64_t start = o * axis.stride - axis.pad_begin;
  const int64_t stop = std::min(start + axis.kernel, axis.in + axis.pad_end);
  const int64_t begin = std::max<int64_t>(start, 0);
  return {begin, std::max(begin, std::min(start + axis.kernel, axis.in)), stop - start};
}

inline float InverseCount(bool include_pad, const PoolRange& h, const PoolRange& w) {
  const int64_t count = include_pad ? h.window * w.window : (h.end - h.begin) * (w.end - w.begin);
  return count <= 0 ? 0.0f : 1.0f / static_cast<float>(count);
}

}  // namespace plumb::simd
#endif

HWY_BEFORE_NAMESPACE();
namespace plumb::simd::HWY_NAMESPACE {

struct SumOp {
  static constexpr float kNeutral = 0.0f;
  template <class V>
  HWY_INLINE V operator()(V a, V b) const {
    return Add(a, b);
  }
};

// line[i] = op over `rows` rows of src[row * stride + i], i in [0, n).
template <class Op, int kRows>
HWY_INLINE void ReduceRows(const float* src, int64_t stride, int64_t rows, float* line, int64_t n) {
  const F32 d;
  const Op op;
  const int64_t lanes = Lanes(d);
  const int64_t count = kRows != 0 ? kRows : rows;
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    __builtin_prefetch(src + i + count * stride);  // the next window's; with a stride of 2 it has two new rows
    __builtin_prefetch(src + i + (count + 1) * stride);
    V32 sum = LoadU(d, src + i);
    for (int64_t r = 1; r < count; ++r) sum = op(sum, LoadU(d, src + i + r * stride));
    StoreU(sum, d, line + i);
  }
  if (i == n) return;
  V32 sum = LoadPart(d, src + i, n - i);
  for (int64_t r = 1; r < count; ++r) sum = op(sum, LoadPart(d, src + i + r * stride, n - i));
  StorePart(sum, d, line + i, n - i);
}

// Columns [first, first + columns) of the input, reduced over the rows of `h`; columns outside it are neutral.
template <class Op>
void FillLine(const PoolParams& p, int64_t block, const float* src, const PoolRange& h, int64_t first, int64_t columns,
              float* line) {
  const int64_t rows = h.end - h.begin;
  const int64_t begin = std::min(std::max<int64_t>(first, 0), first + columns);
  const int64_t end = rows <= 0 ? begin : std::max(begin, std::min(first + columns, p.w.in));
  std::fill(line, line + (begin - first) * block, Op::kNeutral);
  std::fill(line + (end - first) * block, line + columns * block, Op::kNeutral);
  if (end == begin) return;
  const int64_t stride = p.w.in * block;
  const float* from = src + (h.begin * p.w.in + begin) * block;
  float* to = line + (begin - first) * block;
  const int64_t n = (end - begin) * block;
  switch (rows) {
    case 2: return ReduceRows<Op, 2>(from, stride, rows, to, n);
    case 3: return ReduceRows<Op, 3>(from, stride, rows, to, n);
    default: return ReduceRows<Op, 0>(from, stride, rows, to, n);
  }
}

// dst[o] = op over line[o * stride + k], k < kernel, times inverse[o] for averages; blocks of kBlock channels.
template <class Op, int kBlock, int kKernel>
HWY_INLINE void ReduceLineBlocked(const float* line, int64_t kernel, int64_t stride, bool average, const float* inverse,
                                  float* dst, int64_t outputs) {
  const CappedTag<float, kBlock> d;
  const Op op;
  const int64_t count = kKernel != 0 ? kKernel : kernel;
  for (int64_t o = 0; o < outputs; ++o) {
    const float* from = line + o * stride * kBlock;
    for (size_t part = 0; part < kBlock; part += Lanes(d)) {
      auto sum = LoadU(d, from + part);
      for (int64_t k = 1; k < count; ++k) sum = op(sum, LoadU(d, from + k * kBlock + part));
      if (average) sum = Mul(sum, Set(d, inverse[o]));
      StoreU(sum, d, dst + o * kBlock + part);
    }
  }
}

// The same for one channel; strides 1 and 2 on vectors of outputs.
template <class Op>
HWY_INLINE void ReduceLinePlain(const float* line, int64_t kernel, int64_t stride, bool average, const float* inverse,
                                float* dst, int64_t outputs) {
  const F32 d;
  const Op op;
  const int64_t lanes = Lanes(d);
  int64_t o = 0;
  for (; stride <= 2 && o + lanes < outputs; o += lanes) {  // `<`: a pair load reads one column more than the window
    V32 sum = Set(d, Op::kNeutral);
    for (int64_t k = 0; k < kernel; ++k) {
      V32 v = Zero(d), next;
      if (stride == 1) {
        v = LoadU(d, line + o + k);
      } else {
        LoadInterleaved2(d, line + 2 * o + k, v, next);
      }
      sum = op(sum, v);
    }
    StoreU(average ? Mul(sum, LoadU(d, inverse + o)) : sum, d, dst + o);
  }
  const CappedTag<float, 1> one;
  for (; o < outputs; ++o) {
    auto sum = LoadU(one, line + o * stride);
    for (int64_t k = 1; k < kernel; ++k) sum = op(sum, LoadU(one, line + o * stride + k));
    dst[o] = average ? GetLane(sum) * inverse[o] : GetLane(sum);
  }
}

template <class Op, int kBlock>
void ReduceLine(const float* line, int64_t kernel, int64_t stride, bool average, const float* inverse, float* dst,
                int64_t outputs) {
  if constexpr (kBlock == 1) {
    ReduceLinePlain<Op>(line, kernel, stride, average, inverse, dst, outputs);
  } else if (kernel == 3) {
    ReduceLineBlocked<Op, kBlock, 3>(line, kernel, stride, average, inverse, dst, outputs);
  } else {
    ReduceLineBlocked<Op, kBlock, 0>(line, kernel, stride, average, inverse, dst, outputs);
  }
}

// Windows of any position and size (adaptive, or wider than a line): straight loops over each window.
template <class Op, int kBlock>
void PoolDirect(const PoolParams& p, const float* src, float* dst, int64_t row_begin, int64_t row_end) {
  const CappedTag<float, kBlock> d;
  const Op op;
  for (int64_t i = row_begin * p.w.out; i < row_end * p.w.out; ++i) {
    const PoolRange h = RangeOf(p.h, i / p.w.out), w = RangeOf(p.w, i % p.w.out);
    const float inverse = InverseCount(p.count_include_pad, h, w);
    for (size_t part = 0; part < kBlock; part += Lanes(d)) {
      auto sum = Set(d, Op::kNeutral);
      for (int64_t y = h.begin; y < h.end; ++y) {
        auto row = Set(d, Op::kNeutral);
        for (int64_t x = w.begin; x < w.end; ++x) row = op(row, LoadU(d, src + (y * p.w.in + x) * kBlock + part));
        sum = op(sum, row);
      }
      if (p.average) sum = Mul(sum, Set(d, inverse));
      StoreU(sum, d, dst + (i - row_begin * p.w.out) * kBlock + part);
    }
  }
}

// Output columns [o_begin, o_begin + outputs) of every row.
template <class Op, int kBlock>
void PoolColumns(const PoolParams& p, const float* src, float* dst, int64_t row_begin, int64_t row_end, int64_t o_begin,
                 int64_t outputs) {
  alignas(64) float line[kLineFloats];
  alignas(64) float inverse[kLineFloats / kBlock];
  const int64_t first = o_begin * p.w.stride - p.w.pad_begin;
  const int64_t columns = (outputs - 1) * p.w.stride + p.w.kernel;
  int64_t known = -1;  // the row count that `inverse` was made for
  for (int64_t row = row_begin; row < row_end; ++row) {
    const PoolRange h = RangeOf(p.h, row);
    FillLine<Op>(p, kBlock, src, h, first, columns, line);
    const int64_t row_count = p.count_include_pad ? h.window : h.end - h.begin;
    if (p.average && row_count != known) {
      for (int64_t o = 0; o < outputs; ++o) {
        inverse[o] = InverseCount(p.count_include_pad, h, RangeOf(p.w, o_begin + o));
      }
      known = row_count;
    }
    float* to = dst + ((row - row_begin) * p.w.out + o_begin) * kBlock;
    ReduceLine<Op, kBlock>(line, p.w.kernel, p.w.stride, p.average, inverse, to, outputs);
  }
}

template <class Op, int kBlock>
void PoolByColumns(const PoolParams& p, const float* src, float* dst, int64_t row_begin, int64_t row_end) {
  constexpr int64_t kColumns = kLineFloats / kBlock;
  if (p.h.adaptive || p.w.adaptive || p.w.kernel > kColumns / 2) {
    return PoolDirect<Op, kBlock>(p, src, dst, row_begin, row_end);
  }
  const int64_t tile = std::min((kColumns - p.w.kernel) / p.w.stride + 1, kColumns);
  for (int64_t o = 0; o < p.w.out; o += tile) {
    PoolColumns<Op, kBlock>(p, src, dst, row_begin, row_end, o, std::min(tile, p.w.out - o));
  }
}

template <class Op>
void PoolByBlock(const PoolParams& p, int block, const float* src, float* dst, int64_t row_begin, int64_t row_end) {
  switch (block) {
    case 1: return PoolByColumns<Op, 1>(p, src, dst, row_begin, row_end);
    case 8: return PoolByColumns<Op, 8>(p, src, dst, row_begin, row_end);
    case 16: return PoolByColumns<Op, 16>(p, src, dst, row_begin, row_end);
    default: return;
  }
}

void RunPoolPlane(const PoolParams& p, int block, const float* src, float* dst, int64_t row_begin, int64_t row_end) {
  if (p.average) {
    PoolByBlock<SumOp>(p, block, src, dst, row_begin, row_end);
  } else {
    PoolByBlock<MaxOp>(p, block, src, dst, row_begin, row_end);
  }
}

template <int kBlock>
void GlobalAverageBlocked(const float* src, int64_t pixels, float* dst) {
  const F64 d;
  const HalfF32 half;
  const V64 count = Set(d, static_cast<double>(pixels));
  for (size_t part = 0; part < kBlock; part += Lanes(d)) {
    V64 even = Zero(d), odd = Zero(d);
    int64_t i = 0;
    for (; i + 2 <= pixels; i += 2) {
      even = Add(even, PromoteTo(d, LoadU(half, src + i * kBlock + part)));
      odd = Add(odd, PromoteTo(d, LoadU(half, src + (i + 1) * kBlock + part)));
    }
    if (i < pixels) even = Add(even, PromoteTo(d, LoadU(half, src + i * kBlock + part)));
    StoreU(DemoteTo(half, Div(Add(even, odd), count)), half, dst + part);
  }
}

void RunGlobalAverage(int block, const float* src, int64_t pixels, float* dst) {
  if (block == 8) return GlobalAverageBlocked<8>(src, pixels, dst);
  if (block == 16) return GlobalAverageBlocked<16>(src, pixels, dst);
  *dst = static_cast<float>(SumRow(src, pixels) / static_cast<double>(pixels));
}

}  // namespace plumb::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plumb::simd {

HWY_EXPORT(RunPoolPlane);
HWY_EXPORT(RunGlobalAverage);

void PoolPlane(const PoolParams& params, int block, const float* src, float* dst, int64_t row_begin, int64_t row_end) {
  PLUMB_SIMD_CALL(RunPoolPlane)(params, block, src, dst, row_begin, row_end);
}

void GlobalAverage(int block, const float* src, int64_t pixels, float* dst) {
  PLUMB_SIMD_CALL(RunGlobalAverage)(block, src, pixels, dst);
}

}  // namespace plumb::simd
#endif
