// SPDX-License-Identifier: Apache-2.0
// PReLU: y = x < 0 ? slope[c] * x : x on a plane of one channel (NCHW) or one channel block.
#ifndef PLUMB_SIMD_PRELU_H_
#define PLUMB_SIMD_PRELU_H_

#include <cstdint>

namespace plumb::simd {

// A plane [pixels][block], block 1, 8 or 16; `slope` holds `block` values. `dst` may be `src`.
void PreluPlane(int block, const float* src, int64_t pixels, const float* slope, float* dst);

}  // namespace plumb::simd

#endif  // PLUMB_SIMD_PRELU_H_
