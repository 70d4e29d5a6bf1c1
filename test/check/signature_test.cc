// What a wrong output looks like is said only when it does.
#include "check/signature.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/half.h"

namespace plumb {
namespace {

Tensor Reference() {
  Tensor y = Tensor::Create(DType::kF64, {1, 4, 8, 8}).value();
  for (int64_t i = 0; i < y.NumElements(); ++i) y.data<double>()[i] = std::sin(0.7 * static_cast<double>(i * i % 101));
  return y;
}

// x[i] = f(y, i) in f32.
template <class F>
std::string Looks(F f) {
  const Tensor y = Reference();
  Tensor x = Tensor::Create(DType::kF32, y.shape()).value();
  for (int64_t i = 0; i < y.NumElements(); ++i) x.data<float>()[i] = static_cast<float>(f(y.data<double>(), i));
  return DescribeDifference(x, y);
}

TEST(Signature, KnownFaultsAreNamed) {
  EXPECT_EQ(Looks([](const double*, int64_t) { return 0.0; }), "every value is zero");
  EXPECT_EQ(Looks([](const double* y, int64_t i) { return y[i / 64 * 64 + i % 8 * 8 + i / 8 % 8]; }),
            "the values are right with the axes 2 and 3 swapped");
  EXPECT_EQ(Looks([](const double* y, int64_t i) { return y[(3 - i / 64) * 64 + i % 64]; }),
            "the values are right with the channels in reverse");
  EXPECT_EQ(Looks([](const double* y, int64_t i) { return y[i % 4 * 64 + i / 4]; }),
            "the values are right in NHWC order");
  EXPECT_EQ(Looks([](const double* y, int64_t i) { return y[i] * 1.5; }), "every value is off by the factor 1.5");
  EXPECT_EQ(Looks([](const double* y, int64_t i) { return y[i] + 0.25; }), "every value is off by 0.25");
  EXPECT_EQ(Looks([](const double* y, int64_t i) { return i % 8 == 7 ? y[i] + std::cos(i) : y[i]; }),
            "only the border differs: pads");
  EXPECT_EQ(Looks([](const double* y, int64_t i) { return HalfToFloat(FloatToHalf(static_cast<float>(y[i]))); }),
            "every value is an f16");
}

TEST(Signature, NothingIsSaidOfOtherFaults) {
  EXPECT_EQ(Looks([](const double* y, int64_t i) { return i == 100 ? y[i] + 1 : y[i]; }), "");
  EXPECT_EQ(Looks([](const double* y, int64_t i) { return y[i] + 0.1 * std::cos(i); }), "");
  EXPECT_EQ(Looks([](const double* y, int64_t i) { return i == 5 ? NAN : y[i]; }), "");
}

}  // namespace
}  // namespace plumb
