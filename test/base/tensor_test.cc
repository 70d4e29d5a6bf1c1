// SPDX-License-Identifier: Apache-2.0
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

TEST(ResultDeathTest, EndsWithItsMessageWhereThereIsNoValue) {
  Result<int> result = Status::NotFound("cannot read 'net.tnnproto': no such file");
  const char* want = "Result accessed without a value: cannot read 'net.tnnproto': no such file";
  EXPECT_DEATH((void)*result, want);
  EXPECT_DEATH((void)result.value(), want);
  EXPECT_DEATH((void)Result<int>(Status::NotFound("gone")).value(), "gone");
  Result<std::string> text = Status::IoError("a full disk");
  EXPECT_DEATH((void)text->size(), "a full disk");
}

TEST(TensorDeathTest, ElementsAreReadAsWhatTheyAre) {
  Tensor f32 = Tensor::Zeros(DType::kF32, {2, 3}).value();
  EXPECT_EQ(f32.data<float>()[5], 0.f);
  EXPECT_EQ(f32.data<uint32_t>()[5], 0u) << "the bits";
  EXPECT_DEATH((void)f32.data<double>(), "floating point type T of 8 bytes on a tensor of f32 .2,3.");
  EXPECT_DEATH((void)f32.data<int32_t>(), "integer type T of 4 bytes on a tensor of f32");
  EXPECT_DEATH((void)f32.data<uint16_t>(), "of f32");
  const Tensor half = Tensor::Zeros(DType::kBF16, {2}).value();
  EXPECT_EQ(half.data<uint16_t>()[1], 0);
  EXPECT_DEATH((void)half.data<float>(), "of bf16");
  EXPECT_EQ(Tensor().data<int64_t>(), nullptr);
}

}  // namespace
}  // namespace plumb
