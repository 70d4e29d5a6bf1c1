// SPDX-License-Identifier: Apache-2.0
// The rules of integer kernels, each on numbers that were worked out by hand, and what they leave undecided: sums
// beyond 32 bits, scales that are no numbers.
#include "check/integer/integer_rules.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "integer_rules_util.h"
#include "op/resize.h"

namespace plumb {
namespace {

constexpr char kOrt[] = "ONNX Runtime's rule (the sum";
constexpr char kTwice[] = "TFLite's rule (a factor";
constexpr char kOnce[] = "TFLite's rule of one rounding";
constexpr char kUpTwice[] = "TFLite's optimised rule (a factor";
constexpr char kSixteen[] = "TFLite's rule of 16 bits";

TEST(IntegerRules, OnnxRuntimeRoundsSumsToAnEvenHalf) {
  EXPECT_EQ(By(kOrt, Product({1, 3, 5, -1, -3, 4}, 0.1f, 0.2f)), (Integers{0, 2, 2, 0, -2, 2}));
}

TEST(IntegerRules, OnnxRuntimeLimitsInFrontOfTheZeroPoint) {
  EXPECT_EQ(By(kOrt, Product({1000, -1000, 3}, 0.1f, 0.2f, 10)), (Integers{127, -128, 12}));
}

TEST(IntegerRules, OnnxRuntimeScalesEachChannelByItsOwn) {
  IntegerStep step = Product({4, 4, 4, 4, 4, 4}, 1, 1);
  step.scales = {1, 2, 0.5f};
  step.inner = 2;
  EXPECT_EQ(By(kOrt, step), (Integers{4, 4, 8, 8, 2, 2}));
}

// 16777217 is no f32: it becomes 16777216, whose share of 2^-20 is 16 and not a bit more.
TEST(IntegerRules, OnnxRuntimeTakesTheSumInF32) {
  EXPECT_EQ(By(kOrt, Product({16777217.0 + 524288.0}, 0x1p-20f, 1)), (Integers{16}));
  EXPECT_EQ(By(kOnce, Product({16777217.0 + 524288.0}, 0x1p-20f, 1)), (Integers{17}));
}

// 1 / 4 is rounded to 1 / 2 and that to 1.
TEST(IntegerRules, TfliteRoundsTwice) {
  EXPECT_EQ(By(kTwice, Product({1, 2, -2, 8}, 0.25f, 1)), (Integers{1, 1, -1, 2}));
  EXPECT_EQ(By(kOnce, Product({1, 2, -2, 8}, 0.25f, 1)), (Integers{0, 1, 0, 2}));
}

// -2 / 4 is rounded to -1 / 2 and that to 0.
TEST(IntegerRules, OptimisedTfliteRoundsHalvesUpTwice) {
  EXPECT_EQ(By(kUpTwice, Product({1, 2, -2, 8}, 0.25f, 1)), (Integers{1, 1, 0, 2}));
  EXPECT_EQ(By(kUpTwice, Product({3, -3}, 2.5f, 1)), (Integers{8, -7}));
}

// 0.3 is 19661 / 65536: of 108001 that is 32400.63, and not 32400.3.
TEST(IntegerRules, TfliteFactorsOfSixteenBitsHaveFifteen) {
  IntegerStep step = Product({108001, 1, -108001}, 0.3f, 1);
  step.low = -32768;
  step.high = 32767;
  EXPECT_EQ(By(kSixteen, step), (Integers{32401, 0, -32401}));
  EXPECT_EQ(By(kOnce, step), (Integers{32400, 0, -32400}));
}

IntegerStep Product16(const std::vector<double>& sums, float factor) {
  IntegerStep step = Product(sums, factor, 1);
  step.low = -32768;
  step.high = 32767;
  return step;
}

TEST(IntegerRules, TfliteSumsOfSixteenBitsHaveFortyEight) {
  EXPECT_EQ(By(kSixteen, Product16({0x1p36, -0x1p36, 0x1p46}, 0x1p-30f)), (Integers{64, -64, 32767}));
  EXPECT_TRUE(By(kSixteen, Product({5}, 0x1p-1f, 1)).empty());  // of 8 bits
  EXPECT_TRUE(By(kTwice, Product({0x1p36}, 0x1p-30f, 1)).empty());
  for (const double sum : {0x1p47, -0x1p47, 1e300, static_cast<double>(INFINITY), static_cast<double>(NAN)})
    EXPECT_TRUE(By(kSixteen, Product16({sum}, 0x1p-30f)).empty()) << sum;
  EXPECT_TRUE(By(kSixteen, Product16({5}, 0x1p16f)).empty());  // a shift to the left
}

TEST(IntegerRules, TfliteFactorsAboveOneAreShiftedLeft) {
  EXPECT_EQ(By(kTwice, Product({3, -3}, 2.5f, 1)), (Integers{8, -7}));
  EXPECT_EQ(By(kOnce, Product({3, -3}, 2.5f, 1)), (Integers{8, -7}));
}

// Of 230 * 0.046 + 131 * 0.051 with zero points 56, 209 and 7, in steps of 0.044: beyond 98.5 by one FMA's rounding.
TEST(IntegerRules, SumsByFmaAndWithoutDiffer) {
  const IntegerOperand a{Doubles({230.0 - 56}), 0.046f, 56, false}, b{Doubles({131.0 - 209}), 0.051f, 209, false};
  const IntegerStep step = Pair(IntegerForm::kSum, a, b, 0.044f, 7);
  EXPECT_EQ(By("two FMAs", step), (Integers{99}));
  EXPECT_EQ(By("without FMA", step), (Integers{98}));
  EXPECT_TRUE(By("with one number", step).empty());
}

TEST(IntegerRules, ArmRoundsSumsAwayFromZero) {
  const IntegerOperand a{Doubles({3, -3, 1, -1, 200}), 1, 0, false}, b{Doubles({0, 0, 0, 0, 100}), 1, 0, false};
  const IntegerStep step = Pair(IntegerForm::kSum, a, b, 2, 0);
  EXPECT_EQ(By("on ARM", step), (Integers{2, -2, 1, -1, 127}));
  EXPECT_EQ(By("two FMAs", step), (Integers{2, -2, 0, 0, 127}));
}

TEST(IntegerRules, ProductsOfElements) {
  const IntegerOperand a{Doubles({3, -3, 10}), 0.5f, 4, false}, b{Doubles({5, 5, -100}), 0.25f, -7, false};
  const IntegerStep step = Pair(IntegerForm::kTimes, a, b, 0.25f, 1);  // a factor of 1 / 2
  EXPECT_EQ(By("ONNX Runtime's rule for products", step), (Integers{8, -6, -128}));
  EXPECT_EQ(By("TFLite's rule for products of one", step), (Integers{9, -6, -128}));
}

TEST(IntegerRules, MeansOfPlanes) {
  IntegerStep step = Result8(IntegerForm::kMean, 3, 1, 0);
  step.operands = {{Doubles({10, -10, 6}), 1, 0, false}};
  step.count = 4;
  EXPECT_EQ(By("ONNX Runtime's rule for means", step), (Integers{2, -2, 2}));
  EXPECT_EQ(By("TFLite's rule for average pools", step), (Integers{3, -3, 2}));
}

TEST(IntegerRules, MeansOfWindowsDivideByWhatLiesInside) {
  IntegerStep step = Result8(IntegerForm::kWindowMean, 3, 1, 1);
  step.operands = {{Doubles({6, -5, 8}), 1, 1, false}};
  step.counts = {4, 2, 3};
  EXPECT_EQ(By("TFLite's rule for average pools", step), (Integers{3, -2, 4}));  // 10 / 4, -3 / 2, 11 / 3
  step.counts[1] = 0;
  EXPECT_TRUE(By("TFLite's rule for average pools", step).empty());
}

// A mean of 4 in steps of 4 is a sixteenth of the sum: 24 gives 1.5 and 40 gives 2.5.
TEST(IntegerRules, MeansOfAxes) {
  IntegerStep step = Result8(IntegerForm::kReduceMean, 3, 4, 1);
  step.operands = {{Doubles({24, -24, 40}), 1, 0, false}};
  step.count = 4;
  EXPECT_EQ(By("TFLite's rule for means (", step), (Integers{3, -1, 4}));
  EXPECT_EQ(By("XNNPACK's rule for means", step), (Integers{3, -1, 3}));
  step.count = 3;  // the factor is 2^30 * 2 / 3, cut off, at 2^-33: a twelfth
  EXPECT_EQ(By("TFLite's rule for means (", step), (Integers{3, -1, 4}));
  step.count = 0;
  EXPECT_TRUE(By("TFLite's rule for means (", step).empty());
  EXPECT_TRUE(By("XNNPACK's rule for means", step).empty());
}

// Equal scores have 128 steps each; of e^0 to e^-1 the shares are 187.15 and 68.85 of 256.
TEST(IntegerRules, TfliteSoftmax) {
  IntegerStep step = Result8(IntegerForm::kSoftmax, 4, 0x1p-8f, -128);
  step.shape = {2, 2};
  step.axis = 1;
  step.operands = {{Doubles({7, 7, 10, 0}), 0.1f, 0, false}};
  EXPECT_EQ(By("TFLite's rule for softmax (", step), (Integers{0, 0, 59, -59}));
  step.operands[0].scale = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(By("TFLite's rule for softmax (", step).empty());
}

// Two equal scores have a half each, less what the tables lose; of 10 and more below the other one has nothing.
TEST(IntegerRules, TfliteSoftmaxOf16Bits) {
  IntegerStep step = Result8(IntegerForm::kSoftmax, 4, 0x1p-15f, 0);
  step.low = -32768;
  step.high = 32767;
  step.shape = {2, 2};
  step.axis = 1;
  step.operands = {{Doubles({7, 7, 30000, -30000}), 0x1p-10f, 0, false}};
  EXPECT_EQ(By("TFLite's rule for softmax of 16 bits", step), (Integers{16384, 16384, 32766, 2}));
  step.operands[0].scale = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(By("TFLite's rule for softmax of 16 bits", step).empty());
  step.operands[0].scale = 1;
  step.zero = 1;
  EXPECT_TRUE(By("TFLite's rule for softmax of 16 bits", step).empty());
}

// Equal scores share alike: 128 / 2; of two that lie far apart one has all.
TEST(IntegerRules, SoftmaxByTable) {
  IntegerStep step = Result8(IntegerForm::kSoftmax, 4, 0x1p-7f, -128);
  step.shape = {2, 2};
  step.axis = 1;
  step.operands = {{Doubles({7, 7, 100, -100}), 0.1f, 0, false}};
  EXPECT_EQ(By("ONNX Runtime's rule for softmax", step), (Integers{-64, -64, 0, -128}));
  step.scale = 0.0040f;  // 1 / scale is 249.99998: cut off to 249, whose half is 124.5
  EXPECT_EQ(By("ONNX Runtime's rule for softmax", step), (Integers{-4, -4, 121, -128}));
}

// 3 / 2 and -3 / 2 go up; what is subtracted has its own factor.
TEST(IntegerRules, XnnpackSumsRoundHalvesUp) {
  const IntegerOperand a{Doubles({3, -3, 1, 200}), 1, 0, false}, b{Doubles({0, 0, 4, 100}), 1, 0, false};
  IntegerStep step = Pair(IntegerForm::kSum, a, b, 2, 0);
  EXPECT_EQ(By("XNNPACK's rule for sums", step), (Integers{2, -1, 3, 127}));
  step.subtracts = true;
  EXPECT_EQ(By("XNNPACK's rule for sums", step), (Integers{2, -1, -1, 50}));
  EXPECT_EQ(By("TFLite's rule for sums", step), (Integers{2, -2, -2, 50}));
  EXPECT_TRUE(By("two FMAs", step).empty());
}

IntegerStep Element(OpKind kind, const std::vector<double>& values, float x_scale, float y_scale, int64_t zero) {
  IntegerStep step = Result8(IntegerForm::kElement, static_cast<int64_t>(values.size()), y_scale, zero);
  step.operands = {{Doubles(values), x_scale, 0, false}};
  step.base.kind = kind;
  return step;
}

// sigmoid(0) is 128 / 256, sigmoid(1) 187.15 / 256; tanh(0.5) is 59.15 / 128.
TEST(IntegerRules, TfliteTablesOfEightBits) {
  const IntegerStep sigmoid = Element(OpKind::kSigmoid, {0, 10, -10, 127}, 0.1f, 0x1p-8f, -128);
  EXPECT_EQ(By("TFLite's rule for sigmoid and tanh (", sigmoid), (Integers{0, 59, -59, 127}));
  EXPECT_EQ(By("TFLite's rule for sigmoid and tanh (", Element(OpKind::kTanh, {5, -5, 0}, 0.1f, 0x1p-7f, 0)),
            (Integers{59, -59, 0}));
}

// A half is 16384, what the table has at 1 (24 entries on) 65536 * 0.731059 / 2 = 23955; at its end all is 32767.
TEST(IntegerRules, TfliteSigmoidOfSixteenBits) {
  IntegerStep step = Element(OpKind::kSigmoid, {0, 4096, -4096, 32767}, 0x1p-12f, 0x1p-15f, 0);
  step.low = -32768;
  step.high = 32767;
  const Integers sigmoid = By("TFLite's rule for sigmoid and tanh of 16 bits", step);
  ASSERT_EQ(sigmoid.size(), 4u);
  EXPECT_EQ(sigmoid[0], 16384);
  EXPECT_NEAR(static_cast<double>(sigmoid[1]), 23955.3, 1);
  EXPECT_NEAR(static_cast<double>(sigmoid[2]), 8812.7, 1);
  EXPECT_NEAR(static_cast<double>(sigmoid[3]), 32756.9, 1);
  step.base.kind = OpKind::kTanh;
  const Integers tanh = By("TFLite's rule for sigmoid and tanh of 16 bits", step);
  EXPECT_EQ(tanh[0], 0);
  EXPECT_NEAR(static_cast<double>(tanh[1]), 24955.7, 2);
  EXPECT_EQ(tanh[1], -tanh[2]);
  step.zero = 1;
  EXPECT_TRUE(By("TFLite's rule for sigmoid and tanh of 16 bits", step).empty());
}

// 3 * 6 / 6 = 3, 1 * 4 / 6 = 0.667, -1 * 2 / 6 = -0.333, in steps of 0.05.
TEST(IntegerRules, TfliteHardSwish) {
  EXPECT_EQ(By("HARD_SWISH", Element(OpKind::kHardSwish, {60, 20, -20, -80, 0}, 0.05f, 0.05f, 3)),
            (Integers{63, 16, -4, 3, 3}));
}

// A quarter of -2 is -0.5, which goes away from zero, or up.
TEST(IntegerRules, LeakyReluBelowZero) {
  IntegerStep step = Element(OpKind::kPReLU, {-2, 3, -4, 100}, 1, 1, 0);
  Tensor slope = Tensor::Create(DType::kF32, Shape{1}).value();
  slope.data<float>()[0] = 0.25f;
  step.base.resources["slope"] = slope;
  EXPECT_EQ(By("TFLite's rule for leaky ReLU", step), (Integers{-1, 3, -1, 100}));
  EXPECT_EQ(By("XNNPACK's rule for leaky ReLU", step), (Integers{0, 3, -1, 100}));
  step.scale = 1e-30f;  // a ratio that no factor of 8 bits stands for
  EXPECT_TRUE(By("XNNPACK's rule for leaky ReLU", step).empty());
}

TEST(IntegerRules, TflitePRelu) {
  const IntegerOperand x{Doubles({-8, 8, -100}), 1, 0, false}, slope{Doubles({3, 3, -2}), 0.25f, 0, false};
  EXPECT_EQ(By("TFLite's rule for PRELU", Pair(IntegerForm::kPRelu, x, slope, 1, 0)), (Integers{-6, 8, 50}));
}

// Between 0 and 10 lie 2.5, 5 and 7.5, whose halves go away from zero.
TEST(IntegerRules, TfliteBilinearOfTenBits) {
  IntegerStep step = Result8(IntegerForm::kResize, 4, 1, 0);
  step.shape = {1, 1, 1, 5};
  Tensor x = Tensor::Create(DType::kF64, {1, 1, 1, 2}).value();
  x.data<double>()[0] = 0, x.data<double>()[1] = 10;
  step.operands = {{x, 1, 0, false}};
  auto param = std::make_shared<ResizeParam>();
  param->mode = "linear";
  param->coordinates = "align_corners";
  step.base.kind = OpKind::kPlumbResize;
  step.base.param = param;
  EXPECT_EQ(By("RESIZE_BILINEAR", step), (Integers{0, 3, 5, 8, 10}));
  x.data<double>()[1] = -10;
  EXPECT_EQ(By("RESIZE_BILINEAR", step), (Integers{0, -3, -5, -8, -10}));
  step.scale = 2;  // another grid is no resize of integers
  EXPECT_TRUE(By("RESIZE_BILINEAR", step).empty());
}

TEST(IntegerRules, SayNothingBeyondThirtyTwoBits) {
  for (const double sum : {3e9, -3e9, 1e300, static_cast<double>(INFINITY), static_cast<double>(NAN)}) {
    for (const char* words : {kOrt, kTwice, kUpTwice, kOnce})
      EXPECT_TRUE(By(words, Product({sum}, 0.1f, 0.2f)).empty()) << sum;
  }
}

TEST(IntegerRules, SayNothingOfScalesThatAreNoNumbers) {
  const float infinite = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  for (const float scale : {infinite, nan, 1e38f}) {
    EXPECT_TRUE(By(kTwice, Product({5}, scale, 1e-30f)).empty());
    EXPECT_TRUE(By(kOrt, Product({5}, scale, 1e-30f)).empty());
    const IntegerOperand a{Doubles({3}), scale, 0, false}, b{Doubles({5}), 1e-30f, 0, false};
    for (const char* words : {"two FMAs", "without FMA", "on ARM", "TFLite's rule for sums"})
      EXPECT_TRUE(By(words, Pair(IntegerForm::kSum, a, b, 1e-30f, 0)).empty()) << words;
  }
}

}  // namespace
}  // namespace plumb
