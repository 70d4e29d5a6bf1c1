#version 450
// SPDX-License-Identifier: Apache-2.0
// The index of the largest (kMax 1) or smallest element along the middle of [outer, n, inner], the first or (kLast 1)
// last of equals; a NaN wins over every number. -DTYPE_f32, _i32, _i64.
#extension GL_GOOGLE_include_directive : require
#include "common.glslh"
#include "types.glslh"
#include "row.glslh"

layout(constant_id = 2) const int kMax = 1;
layout(constant_id = 3) const int kLast = 0;
layout(std430, binding = 0) writeonly buffer Y { int y[]; };
layout(std430, binding = 1) readonly buffer X { T x[]; };
layout(push_constant) uniform Params { uint count, n, inner; };

#ifdef TYPE_f32
bool Nan(T v) { return IsNaN(v); }
#else
bool Nan(T v) { return false; }
#endif

struct Found {
  T value;
  int index;  // -1: nothing yet
};

Found Better(Found a, Found b) {
  if (a.index < 0) return b;
  if (b.index < 0) return a;
  const bool equal = Nan(b.value) ? Nan(a.value) : !Nan(a.value) && b.value == a.value;
  if (equal) {
    if ((b.index > a.index) == (kLast != 0)) return b;
    return a;
  }
  if (Nan(b.value) || (!Nan(a.value) && (kMax != 0 ? b.value > a.value : b.value < a.value))) return b;
  return a;
}
DEFINE_JOIN(Found, BestOfRow, Better)

void main() {
  const uint row = Row(), end = row < count ? n : 0;
  const uint at = row < count ? row / inner * n * inner + row % inner : 0;
  Found best = Found(T(0), -1);
  for (uint i = Lane(); i < end; i += kLanes) best = Better(best, Found(x[at + i * inner], int(i)));
  best = BestOfRow(best);
  if (row < count && Lane() == 0) y[row] = best.index;
}
