#version 450
// SPDX-License-Identifier: Apache-2.0
// Reductions: the first kKept of kRank dims walk the output, the others its terms.
// kOp is the row of op/reduce.def; -DTYPE_f32, _i32, _i64 (wrapping).
#extension GL_GOOGLE_include_directive : require
#include "common.glslh"
#include "types.glslh"
#ifdef TYPE_f32
#include "sum.glslh"
#endif
#include "row.glslh"
#ifdef TYPE_f32
#include "functions.glslh"
#endif

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

// How terms combine, by the names in op/reduce.def.
const int kSum = 0, kProduct = 1, kLargest = 2, kSmallest = 3, kShiftedSum = 4;
int Combine() {
  switch (kOp) {
#include "reduce_combine_cases.glslh"
  }
  return kSum;
}

T Magnitude(T v) { return v < T(0) ? T(0) - v : v; }

#ifdef TYPE_f32
float Term(float x, float m) {
  switch (kOp) {
#include "reduce_term_cases.glslh"
  }
  return x;
}

float Result(float s, float n, float m) {
  switch (kOp) {
#include "reduce_result_cases.glslh"
  }
  return s;
}

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
  const int combine = Combine();
  if (combine == kLargest) return Largest(base, end);
  if (combine == kSmallest) return Smallest(base, end);
  if (combine == kProduct) return Product(base, end);
  float top = 0.0;
  if (combine == kShiftedSum) top = Largest(base, end);
  const float shift = IsFinite(top) ? top : 0.0;
  Sum sum = NewSum();
  for (uint i = Lane(); i < end; i += kLanes) Add(sum, Term(x[base + Offset(i)], shift));
  const float total = Value(SumOfRow(sum));
  return IsFinite(top) ? Result(total, float(terms), shift) : top;
}
#else
#ifdef TYPE_i32
const int kBits = 32;
#else
const int kBits = 64;
#endif

T Term(T x) {
  switch (kOp) {
#include "reduce_whole_cases.glslh"
  }
  return x;
}

T Both(T a, T b) {
  switch (Combine()) {
    case kLargest: return b > a ? b : a;
    case kSmallest: return b < a ? b : a;
    case kProduct: return a * b;
    default: return a + b;
  }
}
DEFINE_JOIN(T, AllOfRow, Both)

T Start() {
  const T low = T(1) << (kBits - 1);
  switch (Combine()) {
    case kLargest: return low;
    case kSmallest: return ~low;
    case kProduct: return T(1);
    default: return T(0);
  }
}

T Reduce(uint base, uint end) {
  T result = Start();
  for (uint i = Lane(); i < end; i += kLanes) result = Both(result, Term(x[base + Offset(i)]));
  return AllOfRow(result);
}
#endif

void main() {
  const uint row = Row();
  const bool mine = row < count;
  precise T result = Reduce(mine ? Base(row) : 0, mine ? terms : 0);
  if (mine && Lane() == 0) y[row] = result;
}
