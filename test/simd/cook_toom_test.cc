// SPDX-License-Identifier: Apache-2.0
// The matrices of Winograd's algorithm, made at compile time, give a convolution exactly; along both axes and one.
#include "simd/cook_toom.h"

#include <random>

#include "simd/simd_test_util.h"

namespace plumb::simd {
namespace {

template <int m, int r>
void CheckForm() {
  SCOPED_TRACE(testing::Message() << "F(" << m << "," << r << ")");
  using Form = CookToom<m, r>;
  constexpr auto a = Form::Output();
  constexpr auto b = Form::Input();
  constexpr auto g = Form::Kernel();
  std::mt19937 engine(1);
  std::normal_distribution<double> normal;
  double inputs[Form::kSize], taps[r];
  for (double& value : inputs) value = normal(engine);
  for (double& value : taps) value = normal(engine);
  double products[Form::kSize] = {};
  for (int j = 0; j < Form::kSize; ++j) {
    double input = 0, tap = 0;
    for (int i = 0; i < Form::kSize; ++i) input += b.at[j][i] * inputs[i];
    for (int k = 0; k < r; ++k) tap += g.at[j][k] * taps[k];
    products[j] = input * tap;
  }
  for (int i = 0; i < m; ++i) {
    double sum = 0, wanted = 0;
    for (int j = 0; j < Form::kSize; ++j) sum += a.at[i][j] * products[j];
    for (int k = 0; k < r; ++k) wanted += inputs[i + k] * taps[k];
    EXPECT_NEAR(sum, wanted, 1e-12) << "output " << i;
  }
}

TEST(CookToomTest, MakesAConvolution) {
  CheckForm<2, 3>();
  CheckForm<4, 3>();
  CheckForm<2, 5>();
  CheckForm<4, 4>();
  CheckForm<4, 5>();
  CheckForm<4, 7>();
  CheckForm<1, 1>();
}

}  // namespace
}  // namespace plumb::simd
