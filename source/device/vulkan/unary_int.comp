#version 450
// ReLU, Abs, Neg, Sign, Clip of whole numbers, which wrap round; kOp counts them in this order.
#extension GL_GOOGLE_include_directive : require
#include "common.glslh"
#include "types.glslh"

layout(constant_id = 0) const int kOp = 0;
layout(std430, binding = 0) writeonly buffer Y { T y[]; };
layout(std430, binding = 1) readonly buffer X { T x[]; };
layout(push_constant) uniform Params {
  uint count;
  uint low[2], high[2];  // the ends of Clip, as i64
};

int64_t Long(uint words[2]) { return int64_t((uint64_t(words[1]) << 32) | uint64_t(words[0])); }

void main() {
  const uint i = LinearId();
  if (i >= count) return;
  const T v = x[i];
  T result = v;
  if (kOp == 0) result = v < T(0) ? T(0) : v;
  if (kOp == 1) result = v < T(0) ? T(0) - v : v;
  if (kOp == 2) result = T(0) - v;
  if (kOp == 3) result = v > T(0) ? T(1) : (v < T(0) ? T(-1) : T(0));
  if (kOp == 4) {
    const int64_t bottom = Long(low), top = Long(high);
    int64_t c = int64_t(v);
    c = c < bottom ? bottom : c;
    result = T(c > top ? top : c);
  }
  y[i] = result;
}
