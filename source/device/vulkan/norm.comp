#version 450
// SPDX-License-Identifier: Apache-2.0
// y = gamma (x - mean) / sqrt(variance + eps) + beta over rows of n elements (op/norm.h). Sums are compensated
// (Neumaier), because the rows are long.
#extension GL_GOOGLE_include_directive : require
#include "common.glslh"
#include "sum.glslh"
#include "row.glslh"

layout(constant_id = 2) const int kGamma = 0;
layout(constant_id = 3) const int kBeta = 0;
layout(std430, binding = 0) writeonly buffer Y { float y[]; };
layout(std430, binding = 1) readonly buffer X { float x[]; };
layout(std430, binding = 2) readonly buffer Gamma { float gamma[]; };
layout(std430, binding = 3) readonly buffer Beta { float beta[]; };
layout(push_constant) uniform Params {
  uint count, n, groups, per_row, inner;
  float eps;
};

DEFINE_JOIN(Sum, SumOfRow, Both)

void main() {
  const uint row = Row(), at = row * n, end = row < count ? n : 0;
  Sum total = NewSum();
  for (uint i = Lane(); i < end; i += kLanes) Add(total, x[at + i]);
  const float length = float(n);
  precise float mean = Value(SumOfRow(total)) / length;
  Sum squares = NewSum();
  Sum shift = NewSum();
  for (uint i = Lane(); i < end; i += kLanes) {
    precise float d = x[at + i] - mean;
    Add(squares, d * d);
    Add(shift, d);
  }
  precise float rest = Value(SumOfRow(shift)) / length;  // what the rounded mean is off by
  precise float variance = Value(SumOfRow(squares)) / length - rest * rest;
  const float scale = 1.0 / sqrt(variance + eps);
  for (uint i = Lane(); i < end; i += kLanes) {
    const uint c = row % groups * per_row + i / inner;
    precise float v = ((x[at + i] - mean) - rest) * scale;
    if (kGamma != 0) v *= gamma[c];
    if (kBeta != 0) v += beta[c];
    y[at + i] = v;
  }
}
