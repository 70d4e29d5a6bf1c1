// SPDX-License-Identifier: Apache-2.0
// Resizes one plane (a channel block, or one channel of NCHW) by separable taps; the caller makes the tables, so that
// every coordinate convention (half-pixel, align_corners, asymmetric ...) is one loop of the caller's.
#ifndef PLUMB_SIMD_RESIZE_H_
#define PLUMB_SIMD_RESIZE_H_

#include <cstdint>

namespace plumb::simd {

// Output o of the axis is the sum over k < taps of weight[k * out + o] * input[index[k * out + o]]: 1 tap is nearest
// (the weight is not read), 2 linear, 4 cubic. Indices are inside the input already.
struct ResizeAxis {
  int taps = 1;
  int64_t out = 0;
  const int32_t* index = nullptr;
  const float* weight = nullptr;
};

// Output rows [row_begin, row_end) of a plane: src is [in_h][in_w][block], dst the first of those rows,
// [h.out][w.out][block]; block is 1, 8 or 16. `line` is scratch of in_w * block floats (not used when h.taps is 1).
void ResizePlane(const ResizeAxis& h, const ResizeAxis& w, int64_t in_w, int block, const float* src, float* dst,
                 int64_t row_begin, int64_t row_end, float* line);

}  // namespace plumb::simd

#endif  // PLUMB_SIMD_RESIZE_H_
