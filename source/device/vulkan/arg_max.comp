#version 450
// The index of the largest (kMax 1) or smallest element along the middle of [outer, n, inner], the first or (kLast 1) last
// of equals; a NaN wins over every number. -DTYPE_f32, _i32, _i64.
#extension GL_GOOGLE_include_directive : require
#include "common.glslh"
#include "types.glslh"

layout(constant_id = 0) const int kMax = 1;
layout(constant_id = 1) const int kLast = 0;
layout(std430, binding = 0) writeonly buffer Y { int y[]; };
layout(std430, binding = 1) readonly buffer X { T x[]; };
layout(push_constant) uniform Params { uint count, n, inner; };

#ifdef TYPE_f32
bool Nan(T v) { return IsNaN(v); }
#else
bool Nan(T v) { return false; }
#endif

void main() {
  const uint row = LinearId();
  if (row >= count) return;
  const uint at = row / inner * n * inner + row % inner;
  T best = x[at];
  int index = 0;
  for (uint i = 1; i < n; ++i) {
    const T v = x[at + i * inner];
    const bool better = Nan(v) ? !Nan(best) : !Nan(best) && (kMax != 0 ? v > best : v < best);
    const bool equal = Nan(v) ? Nan(best) : !Nan(best) && v == best;
    if (better || (equal && kLast != 0)) {
      best = v;
      index = int(i);
    }
  }
  y[row] = index;
}
