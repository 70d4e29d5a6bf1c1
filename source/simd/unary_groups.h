// SPDX-License-Identifier: Apache-2.0
// The two halves of Unary(): split only so that each compiles quickly.
#ifndef PLUMB_SIMD_UNARY_GROUPS_H_
#define PLUMB_SIMD_UNARY_GROUPS_H_

#include "simd/unary.h"

namespace plumb::simd {

void UnarySimple(UnaryOp op, const UnaryParams& params, const float* src, float* dst, size_t n);
void UnaryMath(UnaryOp op, const UnaryParams& params, const float* src, float* dst, size_t n);

}  // namespace plumb::simd

#endif  // PLUMB_SIMD_UNARY_GROUPS_H_
