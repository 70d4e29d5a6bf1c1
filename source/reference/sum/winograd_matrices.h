// SPDX-License-Identifier: Apache-2.0
// The matrices of Winograd's algorithm for given interpolation points, by Toom and Cook's construction, and the same
// with each entry squared or without its sign, as bounds need them.
#ifndef PLUMB_REFERENCE_SUM_WINOGRAD_MATRICES_H_
#define PLUMB_REFERENCE_SUM_WINOGRAD_MATRICES_H_

#include <cmath>
#include <vector>

#include "plumb/observer.h"
#include "reference/sum/kernel.h"

namespace plumb::reference {

static_assert(Numerics::kMaxPositions <= kMaxSide);

// Only the points matter, since a scale of a row of B^T leaves G's row by its inverse.
struct Matrices {
  enum class Entries { kSame, kSquared, kMagnitude };
  struct Matrix {
    int rows, columns;
    double same[kMaxSide][kMaxSide] = {}, squared[kMaxSide][kMaxSide] = {}, magnitude[kMaxSide][kMaxSide] = {};

    const double* As(Entries entries) const {
      return entries == Entries::kSame ? same[0] : entries == Entries::kSquared ? squared[0] : magnitude[0];
    }
    void Settle() {
      for (int i = 0; i < rows; ++i) {
        for (int j = 0; j < columns; ++j) {
          squared[i][j] = same[i][j] * same[i][j];
          magnitude[i][j] = std::fabs(same[i][j]);
        }
      }
    }
  };

  int m, n, r;
  Matrix a, b, g;  // A^T, B^T, G

  // The tile of these points and infinity; of a kernel of one value: itself.
  Matrices(const std::vector<double>& usual, int64_t kernel)
      : m(kernel == 1 ? 1 : static_cast<int>(usual.size()) + 2 - static_cast<int>(kernel)),
        n(kernel == 1 ? 1 : static_cast<int>(usual.size()) + 1),
        r(static_cast<int>(kernel)),
        a{m, n},
        b{n, n},
        g{n, r} {
    const double* points = usual.data();
    for (int j = 0; j + 1 < n; ++j) {
      double power = 1, scale = 1;
      for (int i = 0; i < m; ++i, power *= points[j]) a.same[i][j] = power;
      for (int l = 0; l + 1 < n; ++l) scale *= l == j ? 1 : points[j] - points[l];
      power = 1 / scale;
      for (int l = 0; l < r; ++l, power *= points[j]) g.same[j][l] = power;
      Polynomial(points, j, b.same[j]);
    }
    a.same[m - 1][n - 1] = 1;
    g.same[n - 1][r - 1] = 1;
    Polynomial(points, -1, b.same[n - 1]);
    for (Matrix* matrix : {&a, &b, &g}) matrix->Settle();
  }

 private:
  // The coefficients of the product of (x - point) over all points but `without`.
  void Polynomial(const double* points, int without, double* coefficients) const {
    coefficients[0] = 1;
    for (int l = 0, degree = 0; l + 1 < n; ++l) {
      if (l == without) continue;
      ++degree;
      for (int k = degree; k >= 0; --k) {
        coefficients[k] = (k > 0 ? coefficients[k - 1] : 0) - points[l] * (k < degree ? coefficients[k] : 0);
      }
    }
  }
};

}  // namespace plumb::reference

#endif  // PLUMB_REFERENCE_SUM_WINOGRAD_MATRICES_H_
