// SPDX-License-Identifier: Apache-2.0
// Separable resize: the taps' rows are blended into one line, then each output pixel blends the line's columns.
#include "simd/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd/resize.cc"
#include "hwy/foreach_target.h"  // before highway.h

#include "hwy/highway.h"
#include "simd/dispatch.h"
#include "simd/loop-inl.h"
#include "simd/resize.h"

HWY_BEFORE_NAMESPACE();
namespace plumb::simd::HWY_NAMESPACE {

// line[i] = sum over k of weight[k] * rows[k][i]
HWY_INLINE void BlendRows(int taps, const float* const* rows, const float* weight, float* line, int64_t n) {
  const F32 d;
  const int64_t lanes = Lanes(d);
  for (int64_t i = 0; i < n; i += lanes) {
    const int64_t left = n - i;
    V32 sum = Zero(d);
    for (int k = 0; k < taps; ++k) {
      const V32 x = left >= lanes ? LoadU(d, rows[k] + i) : LoadPart(d, rows[k] + i, left);
      sum = MulAdd(x, Set(d, weight[k]), sum);
    }
    if (left >= lanes) {
      StoreU(sum, d, line + i);
    } else {
      StorePart(sum, d, line + i, left);
    }
  }
}

template <int kBlock>
HWY_INLINE void BlendColumnsBlocked(const ResizeAxis& w, const float* line, float* dst) {
  const CappedTag<float, kBlock> d;
  for (int64_t o = 0; o < w.out; ++o) {
    for (size_t part = 0; part < kBlock; part += Lanes(d)) {
      const float* from = line + part;
      auto sum = LoadU(d, from + w.index[o] * int64_t{kBlock});
      if (w.taps > 1) sum = Mul(sum, Set(d, w.weight[o]));
      for (int64_t k = 1; k < w.taps; ++k) {
        const auto x = LoadU(d, from + w.index[k * w.out + o] * int64_t{kBlock});
        sum = MulAdd(x, Set(d, w.weight[k * w.out + o]), sum);
      }
      StoreU(sum, d, dst + o * kBlock + part);
    }
  }
}

HWY_INLINE void BlendColumnsPlain(const ResizeAxis& w, const float* line, float* dst) {
  const F32 d;
  const RebindToSigned<F32> di;
  const int64_t lanes = Lanes(d);
  int64_t o = 0;
  for (; o + lanes <= w.out; o += lanes) {
    V32 sum = GatherIndex(d, line, LoadU(di, w.index + o));
    if (w.taps > 1) sum = Mul(sum, LoadU(d, w.weight + o));
    for (int64_t k = 1; k < w.taps; ++k) {
      const V32 x = GatherIndex(d, line, LoadU(di, w.index + k * w.out + o));
      sum = MulAdd(x, LoadU(d, w.weight + k * w.out + o), sum);
    }
    StoreU(sum, d, dst + o);
  }
  const CappedTag<float, 1> one;
  for (; o < w.out; ++o) {
    auto sum = LoadU(one, line + w.index[o]);
    if (w.taps > 1) sum = Mul(sum, LoadU(one, w.weight + o));
    for (int64_t k = 1; k < w.taps; ++k) {
      sum = MulAdd(LoadU(one, line + w.index[k * w.out + o]), LoadU(one, w.weight + k * w.out + o), sum);
    }
    StoreU(sum, one, dst + o);
  }
}

void RunResizePlane(const ResizeAxis& h, const ResizeAxis& w, int64_t in_w, int block, const float* src, float* dst,
                    int64_t row_begin, int64_t row_end, float* line) {
  constexpr int kMaxTaps = 16;
  const int64_t row = in_w * block;
  for (int64_t o = row_begin; o < row_end; ++o, dst += w.out * block) {
    const float* from = src + h.index[o] * row;
    if (h.taps > 1) {
      const float* rows[kMaxTaps];
      float weight[kMaxTaps];
      for (int k = 0; k < h.taps && k < kMaxTaps; ++k) {
        rows[k] = src + h.index[k * h.out + o] * row;
        weight[k] = h.weight[k * h.out + o];
      }
      BlendRows(h.taps, rows, weight, line, row);
      from = line;
    }
    switch (block) {
      case 8: BlendColumnsBlocked<8>(w, from, dst); break;
      case 16: BlendColumnsBlocked<16>(w, from, dst); break;
      default: BlendColumnsPlain(w, from, dst);
    }
  }
}

}  // namespace plumb::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plumb::simd {

HWY_EXPORT(RunResizePlane);

void ResizePlane(const ResizeAxis& h, const ResizeAxis& w, int64_t in_w, int block, const float* src, float* dst,
                 int64_t row_begin, int64_t row_end, float* line) {
  PLUMB_SIMD_CALL(RunResizePlane)(h, w, in_w, block, src, dst, row_begin, row_end, line);
}

}  // namespace plumb::simd
#endif
