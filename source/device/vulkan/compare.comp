#version 450
// y = a op b as bool, with broadcasting; kOp: 0 Equal, 1 Greater, 2 Less, 3 And, 4 Not (b is not read), 5 GreaterOrEqual, 6
// LessOrEqual, 7 Or, 8 Xor. -DTYPE_...
#extension GL_GOOGLE_include_directive : require
#include "common.glslh"
#include "types.glslh"

layout(constant_id = 0) const int kOp = 0;
layout(constant_id = 1) const int kRank = 1;
layout(std430, binding = 0) writeonly buffer Y { uint8_t y[]; };
layout(std430, binding = 1) readonly buffer A { T a[]; };
layout(std430, binding = 2) readonly buffer B { T b[]; };
layout(push_constant) uniform Params {
  uint count;
  uint dims[8], a_strides[8], b_strides[8];
};

bool Apply(T p, T q) {
  switch (kOp) {
    case 0: return p == q;
    case 1: return p > q;
    case 2: return p < q;
    case 3: return p != T(0) && q != T(0);
    case 4: return p == T(0);
    case 5: return p >= q;
    case 6: return p <= q;
    case 7: return p != T(0) || q != T(0);
    default: return (p != T(0)) != (q != T(0));
  }
}

void main() {
  const uint i = LinearId();
  if (i >= count) return;
  uint rest = i, ia = 0, ib = 0;
  for (int d = kRank - 1; d >= 0; --d) {
    const uint at = rest % dims[d];
    rest /= dims[d];
    ia += at * a_strides[d];
    ib += at * b_strides[d];
  }
  y[i] = Apply(a[ia], b[ib]) ? uint8_t(1) : uint8_t(0);
}
