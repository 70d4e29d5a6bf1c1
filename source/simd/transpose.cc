// SPDX-License-Identifier: Apache-2.0
// Transposes by 4 x 4 blocks in 128-bit registers, the width that every target has; the strides of channel blocks make
// wider stores useless for 8 channels. Walks the source in strips, so that its cache lines are used whole.
#include "simd/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd/transpose.cc"
#include "hwy/foreach_target.h"  // before highway.h

#include <algorithm>

#include "hwy/highway.h"
#include "simd/dispatch.h"
#include "simd/loop-inl.h"
#include "simd/transpose.h"

HWY_BEFORE_NAMESPACE();
namespace plumb::simd::HWY_NAMESPACE {

HWY_INLINE void Transpose4x4(const float* src, int64_t src_stride, float* dst, int64_t dst_stride) {
  const Full128<float> d;
  const Full128<double> pair;
  const auto a = LoadU(d, src), b = LoadU(d, src + src_stride);
  const auto c = LoadU(d, src + 2 * src_stride), e = LoadU(d, src + 3 * src_stride);
  const auto ab_low = BitCast(pair, InterleaveLower(d, a, b)), ab_high = BitCast(pair, InterleaveUpper(d, a, b));
  const auto ce_low = BitCast(pair, InterleaveLower(d, c, e)), ce_high = BitCast(pair, InterleaveUpper(d, c, e));
  StoreU(BitCast(d, InterleaveLower(pair, ab_low, ce_low)), d, dst);
  StoreU(BitCast(d, InterleaveUpper(pair, ab_low, ce_low)), d, dst + dst_stride);
  StoreU(BitCast(d, InterleaveLower(pair, ab_high, ce_high)), d, dst + 2 * dst_stride);
  StoreU(BitCast(d, InterleaveUpper(pair, ab_high, ce_high)), d, dst + 3 * dst_stride);
}

HWY_INLINE void TransposeScalar(const float* src, int64_t src_stride, int64_t rows, int64_t columns, float* dst,
                                int64_t dst_stride) {
  for (int64_t c = 0; c < columns; ++c) {
    for (int64_t r = 0; r < rows; ++r) dst[c * dst_stride + r] = src[r * src_stride + c];
  }
}

// A strip of up to 16 rows: 16 is a cache line of the output.
HWY_INLINE void TransposeStrip(const float* src, int64_t src_stride, int64_t rows, int64_t columns, float* dst,
                               int64_t dst_stride) {
  const int64_t whole_rows = rows / 4 * 4, whole_columns = columns / 4 * 4;
  for (int64_t c = 0; c < whole_columns; c += 4) {
    for (int64_t r = 0; r < whole_rows; r += 4) {
      Transpose4x4(src + r * src_stride + c, src_stride, dst + c * dst_stride + r, dst_stride);
    }
  }
  TransposeScalar(src + whole_columns, src_stride, whole_rows, columns - whole_columns,
                  dst + whole_columns * dst_stride, dst_stride);
  TransposeScalar(src + whole_rows * src_stride, src_stride, rows - whole_rows, columns, dst + whole_rows, dst_stride);
}

void RunTranspose(const float* src, int64_t src_stride, int64_t rows, int64_t columns, float* dst, int64_t dst_stride) {
  for (int64_t r = 0; r < rows; r += 16) {
    TransposeStrip(src + r * src_stride, src_stride, std::min<int64_t>(16, rows - r), columns, dst + r, dst_stride);
  }
}

}  // namespace plumb::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plumb::simd {

HWY_EXPORT(RunTranspose);

void Transpose(const float* src, int64_t src_stride, int64_t rows, int64_t columns, float* dst, int64_t dst_stride) {
  PLUMB_SIMD_CALL(RunTranspose)(src, src_stride, rows, columns, dst, dst_stride);
}

void ToBlocked(int block, const float* src, int64_t plane_stride, int64_t channels, int64_t pixels, float* dst) {
  Transpose(src, plane_stride, channels, pixels, dst, block);
  if (channels == block) return;
  for (int64_t i = 0; i < pixels; ++i) std::fill(dst + i * block + channels, dst + (i + 1) * block, 0.0f);
}

void ToPlain(int block, const float* src, int64_t channels, int64_t pixels, float* dst, int64_t plane_stride) {
  Transpose(src, block, pixels, channels, dst, plane_stride);
}

}  // namespace plumb::simd
#endif
