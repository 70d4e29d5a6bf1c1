#version 450
// Reductions: the first kKept of kRank dims walk the output, the others its terms.
// kOp: 0 Sum 1 Mean 2 Max 3 Min 4 Prod 5 L1 6 L2 7 SumSquare 8 LogSum 9 LogSumExp; -DTYPE_f32, _i32, _i64 (wrapping).
#extension GL_GOOGLE_include_directive : require
#include "common.glslh"
#include "types.glslh"
#ifdef TYPE_f32
#include "math.glslh"
#include "sum.glslh"
#endif
#include "row.glslh"

layout(constant_id = 2) const int kOp = 0;
layout(constant_id = 3) const int kKept = 1;
layout(constant_id = 4) const int kRank = 1;
layout(std430, binding = 0) writeonly buffer Y { T y[]; };
layout(std430, binding = 1) readonly buffer X { T x[]; };
layout(push_constant) uniform Params {
  uint count, terms;
  uint dims[9], strides[9];
};

uint Base(uint i) {
  uint at = 0;
  for (int d = kKept - 1; d >= 0; --d) {
    at += i % dims[d] * strides[d];
    i /= dims[d];
  }
  return at;
}

uint Offset(uint i) {
  uint at = 0;
  for (int d = kRank - 1; d >= kKept; --d) {
    at += i % dims[d] * strides[d];
    i /= dims[d];
  }
  return at;
}

#ifdef TYPE_f32
// A NaN wins and stays.
float Larger(float a, float b) { return !IsNaN(a) && (IsNaN(b) || b > a) ? b : a; }
float Smaller(float a, float b) { return !IsNaN(a) && (IsNaN(b) || b < a) ? b : a; }
float Times(float a, float b) {
  precise float product = a * b;
  return product;
}
DEFINE_JOIN(float, LargestOfRow, Larger)
DEFINE_JOIN(float, SmallestOfRow, Smaller)
DEFINE_JOIN(float, ProductOfRow, Times)
DEFINE_JOIN(Sum, SumOfRow, Both)

float Largest(uint base, uint end) {
  float best = -Infinity();
  for (uint i = Lane(); i < end; i += kLanes) best = Larger(best, x[base + Offset(i)]);
  return LargestOfRow(best);
}

float Smallest(uint base, uint end) {
  float best = Infinity();
  for (uint i = Lane(); i < end; i += kLanes) best = Smaller(best, x[base + Offset(i)]);
  return SmallestOfRow(best);
}

float Product(uint base, uint end) {
  float product = 1.0;
  for (uint i = Lane(); i < end; i += kLanes) product = Times(product, x[base + Offset(i)]);
  return ProductOfRow(product);
}

float Reduce(uint base, uint end) {
  if (kOp == 2) return Largest(base, end);
  if (kOp == 3) return Smallest(base, end);
  if (kOp == 4) return Product(base, end);
  float top = 0.0;
  if (kOp == 9) top = Largest(base, end);
  const float shift = IsFinite(top) ? top : 0.0;
  Sum sum = NewSum();
  for (uint i = Lane(); i < end; i += kLanes) {
    const float v = x[base + Offset(i)];
    precise float term = v;
    if (kOp == 5) term = abs(v);
    if (kOp == 6 || kOp == 7) term = v * v;
    if (kOp == 9) term = Exp(v - shift);
    Add(sum, term);
  }
  const float total = Value(SumOfRow(sum));
  if (!IsFinite(top)) return top;
  switch (kOp) {
    case 1: return total / float(terms);
    case 6: return sqrt(total);
    case 8: return Log(total);
    case 9: return shift + Log(total);
    default: return total;
  }
}
#else
#ifdef TYPE_i32
const int kBits = 32;
#else
const int kBits = 64;
#endif

T Both(T a, T b) {
  switch (kOp) {
    case 2: return b > a ? b : a;
    case 3: return b < a ? b : a;
    case 4: return a * b;
    default: return a + b;
  }
}
DEFINE_JOIN(T, AllOfRow, Both)

T Reduce(uint base, uint end) {
  T result = kOp == 4 ? T(1) : T(0);
  if (kOp == 2 || kOp == 3) {
    T low = T(1) << (kBits - 1);
    result = kOp == 2 ? low : ~low;
  }
  for (uint i = Lane(); i < end; i += kLanes) {
    T v = x[base + Offset(i)];
    if (kOp == 5 && v < T(0)) v = T(0) - v;
    if (kOp == 7) v *= v;
    result = Both(result, v);
  }
  return AllOfRow(result);
}
#endif

void main() {
  const uint row = Row();
  const bool mine = row < count;
  precise T result = Reduce(mine ? Base(row) : 0, mine ? terms : 0);
  if (mine && Lane() == 0) y[row] = result;
}
