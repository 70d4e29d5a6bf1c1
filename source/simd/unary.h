// SPDX-License-Identifier: Apache-2.0
// dst[i] = f(src[i]) for the operators of unary_simple.def and unary_math.def (one row per operator: its expression).
#ifndef PLUMB_SIMD_UNARY_H_
#define PLUMB_SIMD_UNARY_H_

#include <cstddef>

namespace plumb::simd {

enum class UnaryOp {
#define PLUMB_SIMD_UNARY(name, ...) k##name,
#include "simd/unary_simple.def"
  kNumSimple,
  kBeforeMath = kNumSimple - 1,  // so that the numbers go on without a gap
#include "simd/unary_math.def"
#undef PLUMB_SIMD_UNARY
  kNumOps
};

// What the rows call alpha, beta and gamma:
//   Clip: alpha = min, beta = max           LeakyRelu, Elu: alpha              Selu: alpha, gamma
//   HardSigmoid, HardSwish: alpha, beta     Power: (x * alpha + beta) ^ gamma
struct UnaryParams {
  float alpha = 1.0f;
  float beta = 0.0f;
  float gamma = 1.0f;
};

// `dst` may be `src`; they must not overlap otherwise.
void Unary(UnaryOp op, const UnaryParams& params, const float* src, float* dst, size_t n);

// "Relu", "Sigmoid", ...: the row's name.
const char* UnaryName(UnaryOp op);

}  // namespace plumb::simd

#endif  // PLUMB_SIMD_UNARY_H_
