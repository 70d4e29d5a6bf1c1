// SPDX-License-Identifier: Apache-2.0
// Sends an operator to the file that holds its row: unary_simple.cc or unary_math.cc.
#include "simd/unary.h"

#include "simd/unary_groups.h"

namespace plumb::simd {

void Unary(UnaryOp op, const UnaryParams& params, const float* src, float* dst, size_t n) {
  if (op < UnaryOp::kNumSimple) {
    UnarySimple(op, params, src, dst, n);
  } else {
    UnaryMath(op, params, src, dst, n);
  }
}

const char* UnaryName(UnaryOp op) {
  switch (op) {
#define PLUMB_SIMD_UNARY(name, ...) \
  case UnaryOp::k##name:            \
    return #name;
#include "simd/unary_math.def"
#include "simd/unary_simple.def"
#undef PLUMB_SIMD_UNARY
    default: return "unknown";
  }
}

}  // namespace plumb::simd
