// SPDX-License-Identifier: Apache-2.0
#include "device/shared/winograd.h"

namespace plumb {
namespace {

constexpr double kG2[4][3] = {{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}};
constexpr double kG4[6][3] = {{1.0 / 4, 0, 0},
                              {-1.0 / 6, -1.0 / 6, -1.0 / 6},
                              {-1.0 / 6, 1.0 / 6, -1.0 / 6},
                              {1.0 / 24, 1.0 / 12, 1.0 / 6},
                              {1.0 / 24, -1.0 / 12, 1.0 / 6},
                              {0, 0, 1}};

}  // namespace

Numerics UsualWinograd(int m) {
  if (m == 2) return Numerics::Winograd(2, {0, 1, -1});
  return Numerics::Winograd(4, {0, 1, -1, 2, -2});
}

void TransformWinogradKernel(int m, const float* kernel, double* transformed) {
  const double(*g)[3] = m == 2 ? kG2 : kG4;
  const int n = m + 2;
  for (int i = 0; i < n; ++i) {
    double row[3];
    for (int l = 0; l < 3; ++l) {
      row[l] = g[i][0] * static_cast<double>(kernel[l]) + g[i][1] * static_cast<double>(kernel[3 + l]) +
               g[i][2] * static_cast<double>(kernel[6 + l]);
    }
    for (int j = 0; j < n; ++j) transformed[i * n + j] = row[0] * g[j][0] + row[1] * g[j][1] + row[2] * g[j][2];
  }
}

}  // namespace plumb
