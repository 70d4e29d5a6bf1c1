// SPDX-License-Identifier: Apache-2.0
// The devices' Winograd matrices: G, and B^T and A^T as winograd.inc applies them, give a convolution exactly.
#include "device/shared/winograd.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "device/shared/winograd.inc"

namespace plumb {
namespace {

void ToInputs(int m, double* x) {
  const int n = m + 2;
  for (int i = 0; i < n; ++i) {
    if (m == 2) WINOGRAD2_INPUT(double, x, i, n)
    if (m == 4) WINOGRAD4_INPUT(double, x, i, n)
  }
  for (int i = 0; i < n; ++i) {
    if (m == 2) WINOGRAD2_INPUT(double, x, i* n, 1)
    if (m == 4) WINOGRAD4_INPUT(double, x, i* n, 1)
  }
}

void ToOutputs(int m, double* x) {
  const int n = m + 2;
  for (int i = 0; i < n; ++i) {
    if (m == 2) WINOGRAD2_OUTPUT(double, x, i, n)
    if (m == 4) WINOGRAD4_OUTPUT(double, x, i, n)
  }
  for (int i = 0; i < m; ++i) {
    if (m == 2) WINOGRAD2_OUTPUT(double, x, i* n, 1)
    if (m == 4) WINOGRAD4_OUTPUT(double, x, i* n, 1)
  }
}

class WinogradTile : public testing::TestWithParam<int> {};

TEST_P(WinogradTile, TransformsMakeAConvolution) {
  const int m = GetParam(), n = m + 2;
  std::mt19937 engine(1);
  std::normal_distribution<float> normal;
  float kernel[9];
  for (float& value : kernel) value = normal(engine);
  double tile[kMaxWinogradTile * kMaxWinogradTile], u[kMaxWinogradTile * kMaxWinogradTile];
  for (double& value : tile) value = static_cast<double>(normal(engine));
  std::vector<double> wanted;
  for (int i = 0; i < m * m; ++i) {
    double sum = 0;
    for (int k = 0; k < 9; ++k) sum += static_cast<double>(kernel[k]) * tile[(i / m + k / 3) * n + i % m + k % 3];
    wanted.push_back(sum);
  }
  TransformWinogradKernel(m, kernel, u);
  ToInputs(m, tile);
  for (int i = 0; i < n * n; ++i) tile[i] *= u[i];
  ToOutputs(m, tile);
  for (int i = 0; i < m * m; ++i) EXPECT_NEAR(tile[i / m * n + i % m], wanted[static_cast<size_t>(i)], 1e-12) << i;
}

// Column j of A^T is 1, p, p^2, ... of the declared point p, up to a factor; the last column is that of infinity.
TEST_P(WinogradTile, HasTheDeclaredPoints) {
  const int m = GetParam(), n = m + 2;
  const Numerics usual = UsualWinograd(m);
  const std::vector<double>& points = usual.points;
  ASSERT_EQ(points.size(), static_cast<size_t>(n - 1));
  for (int j = 0; j < n; ++j) {
    double column[kMaxWinogradTile] = {};
    column[j] = 1;
    if (m == 2) WINOGRAD2_OUTPUT(double, column, 0, 1)
    if (m == 4) WINOGRAD4_OUTPUT(double, column, 0, 1)
    for (int i = 0; i < m; ++i) {
      const double power = j == n - 1 ? (i == m - 1) : std::pow(points[static_cast<size_t>(j)], i);
      EXPECT_EQ(column[i], power) << "row " << i << ", column " << j;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, WinogradTile, testing::Values(2, 4));

TEST(Numerics, SayWhatTheyAre) {
  EXPECT_EQ(UsualWinograd(4).Name(), "winograd F(4x4,3x3) points 0 1 -1 2 -2");
  Numerics numerics;
  EXPECT_EQ(numerics.Name(), "");
  numerics.accumulator = DType::kF16;
  numerics.storage = DType::kBF16;
  EXPECT_EQ(numerics.Name(), "sums in f16, operands in bf16");
}

}  // namespace
}  // namespace plumb
