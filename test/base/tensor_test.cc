#include "plumb/tensor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/half.h"

namespace plumb {
namespace {

TEST(Shape, RefusesNegativeAndHugeDims) {
  EXPECT_TRUE(Shape({0, 1 << 20, 1 << 20}).Validate().ok());
  EXPECT_FALSE(Shape({0, 1ll << 62, 1ll << 62}).Validate().ok());
  EXPECT_FALSE(Shape({1ll << 62, 1ll << 62, 0}).Validate().ok());
  EXPECT_FALSE((Shape{-1}).Validate().ok());
  EXPECT_FALSE((Shape{1 << 30, 1 << 30}).Validate().ok());
  EXPECT_EQ(Shape{}.NumElements(), 1);
}

TEST(Half, EveryHalfSurvivesTheRoundTrip) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const uint16_t half = static_cast<uint16_t>(bits);
    const float value = HalfToFloat(half);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(HalfToFloat(FloatToHalf(value))));
    } else {
      EXPECT_EQ(FloatToHalf(value), half) << bits;
    }
  }
}

TEST(Half, RoundsToNearestEven) {
  EXPECT_EQ(FloatToHalf(65519.f), 0x7BFF);
  EXPECT_EQ(FloatToHalf(65520.f), 0x7C00);
  EXPECT_EQ(FloatToHalf(1.f + 0x1p-11f), 0x3C00);
  EXPECT_EQ(FloatToHalf(1.f + 0x3p-11f), 0x3C02);
  EXPECT_EQ(FloatToHalf(0x1p-25f), 0);
  EXPECT_EQ(FloatToHalf(0x1.8p-25f), 1);
}

TEST(Tensor, ConversionSaturatesAndHandlesNan) {
  Tensor t = Tensor::Create(DType::kF64, {4}).value();
  t.data<double>()[0] = std::nan("");
  t.data<double>()[1] = 1e30;
  t.data<double>()[2] = -3.9;
  t.data<double>()[3] = 1 + 0x1p-11 + 0x1p-40;  // rounds up only when rounded once
  const Tensor i = t.ConvertedTo(DType::kI32).value();
  EXPECT_EQ(i.data<int32_t>()[0], 0);
  EXPECT_EQ(i.data<int32_t>()[1], std::numeric_limits<int32_t>::max());
  EXPECT_EQ(i.data<int32_t>()[2], -3);
  EXPECT_EQ(t.ConvertedTo(DType::kF16).value().data<uint16_t>()[3], 0x3C01);
}

}  // namespace
}  // namespace plumb
