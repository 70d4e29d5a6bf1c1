// SPDX-License-Identifier: Apache-2.0
// The matrices of Winograd's algorithm F(m, r), worked out at compile time from its interpolation points (the
// Toom-Cook construction: Lavin and Gray, arXiv:1509.09308; Barabasz et al., arXiv:1803.10986): m outputs of a filter
// with r taps over n = m + r - 1 inputs are A^T ((G g) . (B^T d)). The points are n - 1 numbers; infinity is the last.
#ifndef PLUMB_SIMD_COOK_TOOM_H_
#define PLUMB_SIMD_COOK_TOOM_H_

namespace plumb::simd {

// The interpolation points by their number, the only data: small and spread about 1, which keeps the error of a random
// sum low.
template <int count>
struct CookToomPoints;
template <>
struct CookToomPoints<3> {
  static constexpr double value[] = {0, 1, -1};
};
template <>
struct CookToomPoints<5> {
  static constexpr double value[] = {0, 1, -1, 0.5, -2};
};
template <>
struct CookToomPoints<6> {
  static constexpr double value[] = {0, 1, -1, 2, -2, -0.25};
};
template <>
struct CookToomPoints<7> {
  static constexpr double value[] = {0, 1, -1, 2, -2, 0.5, -0.5};
};
template <>
struct CookToomPoints<9> {
  static constexpr double value[] = {0, 1, -1, 2, -2, 0.5, -0.5, 0.75, -4.0 / 3};
};

template <int rows_, int columns_>
struct ConstMatrix {
  static constexpr int kRows = rows_, kColumns = columns_;
  double at[rows_][columns_] = {};
};

template <int m, int r>
struct CookToom {
  static constexpr int kOutputs = m, kTaps = r, kSize = m + r - 1;
  using Points = CookToomPoints<kSize - 1>;

  // Row j, of point p: the coefficients of the product of (x - q) over the other points; of infinity: over all points.
  static constexpr ConstMatrix<kSize, kSize> Input() {
    ConstMatrix<kSize, kSize> b;
    for (int j = 0; j < kSize; ++j) {
      b.at[j][0] = 1;
      int degree = 0;
      for (int l = 0; l < kSize - 1; ++l) {
        if (l == j) continue;
        ++degree;
        for (int i = degree; i >= 0; --i) {
          b.at[j][i] = (i > 0 ? b.at[j][i - 1] : 0) - Points::value[l] * b.at[j][i];
        }
      }
    }
    return b;
  }

  // Row j: powers of its point over the product of its distances to the others.
  static constexpr ConstMatrix<kSize, r> Kernel() {
    ConstMatrix<kSize, r> g;
    for (int j = 0; j < kSize - 1; ++j) {
      double scale = 1;
      for (int l = 0; l < kSize - 1; ++l) {
        if (l != j) scale *= Points::value[j] - Points::value[l];
      }
      double power = 1;
      for (int k = 0; k < r; ++k, power *= Points::value[j]) g.at[j][k] = power / scale;
    }
    g.at[kSize - 1][r - 1] = 1;
    return g;
  }

  static constexpr ConstMatrix<m, kSize> Output() {
    ConstMatrix<m, kSize> a;
    for (int j = 0; j < kSize - 1; ++j) {
      double power = 1;
      for (int i = 0; i < m; ++i, power *= Points::value[j]) a.at[i][j] = power;
    }
    a.at[m - 1][kSize - 1] = 1;
    return a;
  }
};

// An axis along which nothing is combined: one output of one tap.
template <>
struct CookToom<1, 1> {
  static constexpr int kOutputs = 1, kTaps = 1, kSize = 1;
  static constexpr ConstMatrix<1, 1> Input() { return {{{1}}}; }
  static constexpr ConstMatrix<1, 1> Kernel() { return {{{1}}}; }
  static constexpr ConstMatrix<1, 1> Output() { return {{{1}}}; }
};

}  // namespace plumb::simd

#endif  // PLUMB_SIMD_COOK_TOOM_H_
