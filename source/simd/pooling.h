// SPDX-License-Identifier: Apache-2.0
// Max and average pooling (2-D) on one plane: a channel block of nChw8c / nChw16c, or one channel of NCHW.
#ifndef PLUMB_SIMD_POOLING_H_
#define PLUMB_SIMD_POOLING_H_

#include <cstddef>
#include <cstdint>

namespace plumb::simd {

// One axis: output o reads [o * stride - pad_begin, that + kernel) cut to the input; adaptive: output o reads
// [floor(o * in / out), ceil((o + 1) * in / out)), and kernel, stride and pads are not looked at.
struct PoolAxis {
  int64_t in = 1, out = 1;
  int64_t kernel = 1, stride = 1;
  int64_t pad_begin = 0, pad_end = 0;
  bool adaptive = false;
};

struct PoolParams {
  PoolAxis h, w;
  bool average = false;
  // Average divides by the pixels inside the input; with this, by the window cut at in + pad_end.
  bool count_include_pad = false;
};

// Output rows [row_begin, row_end) of a plane: src is [h.in][w.in][block], dst the first row of [h.out][w.out][block];
// block is 1 (NCHW), 8 or 16. Max of a window outside the input is -infinity, its average 0. NaN stays NaN.
void PoolPlane(const PoolParams& params, int block, const float* src, float* dst, int64_t row_begin, int64_t row_end);

// Mean over `pixels` of each of the `block` channels of a plane [pixels][block] into dst[block]. Summed in blocks, so
// that the error does not grow with the number of pixels.
void GlobalAverage(int block, const float* src, int64_t pixels, float* dst);

}  // namespace plumb::simd

#endif  // PLUMB_SIMD_POOLING_H_
