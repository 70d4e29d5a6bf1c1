// SPDX-License-Identifier: Apache-2.0
// What a wrong output looks like is said only when it does.
#include "check/cause/signature.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

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
  EXPECT_EQ(Looks([](const double*, int64_t) { return 0.5; }), "every value is 0.5");
  EXPECT_EQ(Looks([](const double* y, int64_t i) { return y[i / 4 % 64 + 64 * (i % 4)]; }),
            "the values are right in NHWC order");
  EXPECT_EQ(Looks([](const double* y, int64_t i) { return y[i % 8 * 8 + i / 8 % 4 * 64 + i / 32]; }),
            "the values are right with the axes in the order 0 3 1 2");
  EXPECT_EQ(Looks([](const double* y, int64_t i) { return i % 8 == 7 ? y[i] : y[i + 1]; }),
            "the values are those of the pixel (0, 1) further (height, width)");
  EXPECT_EQ(Looks([](const double* y, int64_t i) { return i / 8 % 8 == 7 ? y[i] : (y[i] + y[i + 8]) / 2; }),
            "the values are those of the pixel (1/2, 0) further (height, width)");
  EXPECT_EQ(Looks([](const double* y, int64_t i) { return y[i] * (1 + 0.1 * static_cast<double>(i / 64)); }),
            "each channel is off by its own factor, 1 to 1.3");
  EXPECT_EQ(Looks([](const double* y, int64_t i) { return y[i] + 0.25 * static_cast<double>(1 + i / 64); }),
            "each channel is off by its own offset, 0.25 to 1");
  EXPECT_EQ(Looks([](const double* y, int64_t i) {
              return y[i] * (1 + 0.1 * static_cast<double>(i / 64)) + 0.2 * static_cast<double>(i / 64 % 2);
            }),
            "each channel is off by its own factor and offset");
  EXPECT_EQ(Looks([](const double* y, int64_t i) { return y[(i * 77) % 256]; }),
            "the values are right in another order");
  EXPECT_EQ(Looks([](const double* y, int64_t i) { return i % 4 == 2 ? y[i] + std::cos(i) : y[i]; }),
            "only values whose number is 2 modulo 4 differ");
  EXPECT_EQ(Looks([](const double* y, int64_t i) { return HalfToFloat(FloatToHalf(static_cast<float>(y[i]))); }),
            "every value is an f16");
  EXPECT_EQ(
      Looks([](const double* y, int64_t i) { return BFloat16ToFloat(FloatToBFloat16(static_cast<float>(y[i]))); }),
      "every value is a bf16");
}

// Of another shape than the rest: x = f(y, i).
std::string LooksAt(const Shape& shape, double scale, const std::function<double(const double*, int64_t)>& f) {
  Tensor y = Tensor::Create(DType::kF64, shape).value(), x = Tensor::Create(DType::kF32, shape).value();
  for (int64_t i = 0; i < y.NumElements(); ++i)
    y.data<double>()[i] = scale * std::sin(0.7 * static_cast<double>(i * i % 101));
  for (int64_t i = 0; i < y.NumElements(); ++i) x.data<float>()[i] = static_cast<float>(f(y.data<double>(), i));
  return DescribeDifference(x, y);
}

TEST(Signature, PacksTailsAndOverflowAreNamed) {
  EXPECT_EQ(
      LooksAt({1, 8, 3, 3}, 1, [](const double* y, int64_t i) { return y[(i / 36 * 4 + i % 4) * 9 + i / 4 % 9]; }),
      "the values are right in packs of 4 channels (NC4HW4)");
  EXPECT_EQ(
      LooksAt({2, 7, 6, 6}, 1, [](const double* y, int64_t i) { return i / 36 % 7 >= 4 ? y[i] + std::cos(i) : y[i]; }),
      "only the last 3 of 7 channels differ: the rest of blocks of 4");
  EXPECT_EQ(
      LooksAt({2, 4, 6, 11}, 1, [](const double* y, int64_t i) { return i % 11 >= 8 ? y[i] + std::cos(i) : y[i]; }),
      "only the last 3 of 11 columns differ: the rest of blocks of 4");
  EXPECT_EQ(LooksAt({2, 50}, 1e5,
                    [](const double* y, int64_t i) {
                      return std::fabs(y[i]) > 65504 ? std::copysign(INFINITY, y[i]) : y[i];
                    }),
            "54 values beyond f16's range are 65504 or infinite");
}

TEST(Signature, NothingIsSaidOfOtherFaults) {
  EXPECT_EQ(Looks([](const double* y, int64_t i) { return i % 7 == 3 && i < 200 ? y[i] + 1 : y[i]; }),
            "29 of 256 values differ");
  EXPECT_EQ(Looks([](const double* y, int64_t i) { return y[i] + 0.1 * std::cos(i); }), "");
  EXPECT_EQ(Looks([](const double* y, int64_t i) { return i == 5 ? NAN : y[i]; }), "");
}

// Zeros inside of the borders are those of any neighbour.
// Among a million values any ten have their like: "in another order" is said of what differs alone.
TEST(Signature, TenStaleValuesAreNoOtherOrder) {
  Tensor y = Tensor::Create(DType::kF64, {1, 64, 128, 128}).value();
  for (int64_t i = 0; i < y.NumElements(); ++i) y.data<double>()[i] = std::sin(0.7 * static_cast<double>(i));
  Tensor x = Tensor::Create(DType::kF32, y.shape()).value();
  for (int64_t i = 0; i < y.NumElements(); ++i) x.data<float>()[i] = static_cast<float>(y.data<double>()[i]);
  for (int64_t i = 0; i < 10; ++i)
    x.data<float>()[i * 91733] = static_cast<float>(std::sin(0.1 * static_cast<double>(i)));
  EXPECT_EQ(DescribeDifference(x, y).find("another order"), std::string::npos) << DescribeDifference(x, y);
}

TEST(Signature, AShiftMovesSomething) {
  for (const Shape& shape : {Shape{4, 10}, Shape{1, 2, 8, 8}}) {
    const int64_t row = shape[shape.rank() - 1];
    Tensor y = Tensor::Zeros(DType::kF64, shape).value(), x = Tensor::Zeros(DType::kF32, shape).value();
    for (int64_t i = 0; i < y.NumElements(); i += row) y.data<double>()[i] = 1, x.data<float>()[i] = 0.996f;
    EXPECT_EQ(DescribeDifference(x, y).find("further"), std::string::npos) << DescribeDifference(x, y);
  }
}

}  // namespace
}  // namespace plumb
