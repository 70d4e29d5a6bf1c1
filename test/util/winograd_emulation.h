// SPDX-License-Identifier: Apache-2.0
// Winograd convolutions in fp32 for any tile and points, with matrices made by elimination: no code shared with the
// devices or with the reference's bound.
#ifndef PLUMB_TEST_UTIL_WINOGRAD_EMULATION_H_
#define PLUMB_TEST_UTIL_WINOGRAD_EMULATION_H_

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "reference/sum/winograd.h"

namespace plumb {

using Square8 = std::array<std::array<double, 8>, 8>;

// The inverse of the transposed Vandermonde matrix of the points and infinity, by elimination: B^T when G and A^T are
// Vandermonde matrices themselves.
inline Square8 WinogradInputTransform(const std::vector<double>& points, int n) {
  double m[8][16] = {};
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < n; ++i) m[i][j] = j == n - 1 ? (i == n - 1) : std::pow(points[static_cast<size_t>(j)], i);
    m[j][n + j] = 1;
  }
  for (int column = 0; column < n; ++column) {
    int pivot = column;
    for (int i = column; i < n; ++i) pivot = std::fabs(m[i][column]) > std::fabs(m[pivot][column]) ? i : pivot;
    std::swap(m[pivot], m[column]);
    for (int i = 0; i < n; ++i) {
      const double factor = i == column ? 0 : m[i][column] / m[column][column];
      for (int j = 0; j < 2 * n; ++j) m[i][j] -= factor * m[column][j];
    }
  }
  Square8 inverse{};
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) inverse[static_cast<size_t>(i)][static_cast<size_t>(j)] = m[i][n + j] / m[i][i];
  }
  return inverse;
}

// One image of a convolution of stride 1.
struct WinogradProblem {
  int64_t channels, outputs, in_h, in_w, out_h, out_w, pad;
};

// sum of factors times in[k], rounded to float at every step.
inline float WinogradDot(const double* factor, int count, const float* in, int step) {
  float sum = 0;
  for (int k = 0; k < count; ++k) sum += static_cast<float>(factor[k]) * in[k * step];
  return sum;
}

// out = left in left^T in float; left is rows x size.
inline void WinogradSandwich(const Square8& left, int rows, int size, const float* in, float* out) {
  float half[64];
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < size; ++j)
      half[i * size + j] = WinogradDot(left[static_cast<size_t>(i)].data(), size, in + j, size);
  }
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < rows; ++j) {
      out[i * rows + j] = WinogradDot(left[static_cast<size_t>(j)].data(), size, half + i * size, 1);
    }
  }
}

// Float throughout, serial sums over the channels. input [channels][in_h][in_w], weight [outputs][channels][r][r]; r
// follows from the form: tiles of m + r - 1, one more than there are points.
inline std::vector<float> EmulateWinograd(const WinogradForm& form, const WinogradProblem& p, const float* input,
                                          const float* weight) {
  const int m = form.m, n = static_cast<int>(form.points.size()) + 1, r = n - m + 1;
  Square8 g{}, a{};
  const Square8 b = WinogradInputTransform(form.points, n);
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < 8; ++i) {
      const double power = j == n - 1 ? 0 : std::pow(form.points[static_cast<size_t>(j)], i);
      if (i < r) g[static_cast<size_t>(j)][static_cast<size_t>(i)] = j == n - 1 ? (i == r - 1) : power;
      if (i < m) a[static_cast<size_t>(i)][static_cast<size_t>(j)] = j == n - 1 ? (i == m - 1) : power;
    }
  }
  std::vector<float> result(static_cast<size_t>(p.outputs * p.out_h * p.out_w));
  for (int64_t o = 0; o < p.outputs; ++o) {
    for (int64_t tile = 0; tile < ((p.out_h + m - 1) / m) * ((p.out_w + m - 1) / m); ++tile) {
      const int64_t across = (p.out_w + m - 1) / m, top = tile / across * m, left = tile % across * m;
      float sum[64] = {}, out[64];
      for (int64_t c = 0; c < p.channels; ++c) {
        float d[64], u[64], v[64];
        for (int i = 0; i < n * n; ++i) {
          const int64_t y = top + i / n - p.pad, x = left + i % n - p.pad;
          d[i] = y >= 0 && y < p.in_h && x >= 0 && x < p.in_w ? input[(c * p.in_h + y) * p.in_w + x] : 0;
        }
        WinogradSandwich(g, n, r, weight + (o * p.channels + c) * r * r, u);
        WinogradSandwich(b, n, n, d, v);
        for (int i = 0; i < n * n; ++i) sum[i] += u[i] * v[i];
      }
      WinogradSandwich(a, m, n, sum, out);
      for (int i = 0; i < m * m; ++i) {
        const int64_t y = top + i / m, x = left + i % m;
        if (y < p.out_h && x < p.out_w) result[static_cast<size_t>((o * p.out_h + y) * p.out_w + x)] = out[i];
      }
    }
  }
  return result;
}

}  // namespace plumb

#endif  // PLUMB_TEST_UTIL_WINOGRAD_EMULATION_H_
