// SPDX-License-Identifier: Apache-2.0
// Rules of TFLite's sums, functions, norms, softmaxes and resizes. Numbers without a word are LiteRT 2.3.0's own.
#include <gtest/gtest.h>

#include <limits>

#include "check/integer/integer_rules.h"
#include "integer_rules_util.h"
#include "op/resize.h"

namespace plumb {
namespace {

// A quarter of 2 is rounded to 1 by both; of -2 to -1, or by XNNPACK to 0.
TEST(IntegerSums, OfAxes) {
  IntegerStep step = Result8(IntegerForm::kReduceSum, 3, 4, 1);
  step.operands = {{Doubles({2, -2, 7}), 1, 5, false}};
  step.count = 6;
  EXPECT_EQ(By("TFLite's rule for SUM", step), (Integers{2, 0, 3}));
  EXPECT_EQ(By("TFLite's optimised rule for SUM", step), (Integers{2, 0, 3}));
  EXPECT_EQ(By("XNNPACK's rule for SUM", step), (Integers{1, 1, 3}));
  step.operands[0].whole.data<double>()[0] = 1;  // rounded to a half, and that to 1
  EXPECT_EQ(By("TFLite's rule for SUM", step), (Integers{2, 0, 3}));
  EXPECT_EQ(By("TFLite's optimised rule for SUM", step), (Integers{1, 0, 3}));
  step.operands[0].whole.data<double>()[0] = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(By("TFLite's optimised rule for SUM", step).empty());
}

// A half and the zero point 3 is 4, to an even half; in front of the zero point it is 0.
TEST(IntegerSums, OfAxesOfU8BehindTheZeroPoint) {
  IntegerStep step = Result8(IntegerForm::kReduceSum, 2, 1, 3);
  step.low = 0, step.high = 255;
  step.operands = {{Doubles({1, 700}), 0.5f, 5, false}};
  step.count = 6;
  EXPECT_EQ(By("XNNPACK's rule for SUM of u8", step), (Integers{4, 255}));
  EXPECT_EQ(By("XNNPACK's rule for SUM (an exact", step), (Integers{3, 255}));
  step.operands[0].whole.data<double>()[0] = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(By("XNNPACK's rule for SUM of u8", step).empty());
  step.low = -128;
  EXPECT_TRUE(By("XNNPACK's rule for SUM of u8", step).empty());
}

// -35 * 0.12 + 21 * 0.09 is -16.4999987 steps of 0.14.
TEST(IntegerSums, OfU8AreCutOff) {
  const IntegerOperand a{Doubles({-35, -28}), 0.12f, 117, false}, b{Doubles({21, 21}), 0.09f, 148, false};
  IntegerStep step = Pair(IntegerForm::kSum, a, b, 0.14f, 137);
  step.low = 0, step.high = 255;
  EXPECT_EQ(By("TFLite's optimised rule for sums of u8", step), (Integers{120, 126}));
  EXPECT_EQ(By("TFLite's optimised rule for sums (operands rounded once", step), (Integers{121, 127}));
  EXPECT_EQ(By("TFLite's rule for sums", step), (Integers{121, 127}));
}

// tanh(1.46) is 0.8985, in steps of 2^-15 29441; the fixed point leaves 3 bits out.
TEST(IntegerElements, Of16BitsInFixedPoint) {
  IntegerStep step = Result8(IntegerForm::kElement, 4, 0x1p-15f, 0);
  step.low = -32768, step.high = 32767;
  step.base.kind = OpKind::kTanh;
  step.operands = {{Doubles({8, 3000, -5001, 32767}), 0x1p-11f, 0, false}};
  EXPECT_EQ(By("optimised: gemmlowp's fixed point", step), (Integers{120, 29440, -32280, 32767}));
  step.operands[0] = {Doubles({16, 6000, -10002, 32767}), 0x1p-12f, 0, false};
  EXPECT_EQ(By("optimised: gemmlowp's fixed point", step).at(1), 29440);
  step.base.kind = OpKind::kSigmoid;
  EXPECT_EQ(By("optimised: gemmlowp's fixed point", step).size(), 4u);
  step.operands[0].scale = 0x1p-11f;
  EXPECT_TRUE(By("optimised: gemmlowp's fixed point", step).empty());
}

// (3 / 2 - 1 / 4)^2 is 1.5625 and (-2 + 1)^2 one, in steps of a quarter.
TEST(IntegerSums, SquaredDifferences) {
  const IntegerOperand a{Doubles({3, -4, 200}), 0.5f, 0, false}, b{Doubles({1, -4, -200}), 0.25f, 0, false};
  EXPECT_EQ(By("SQUARED_DIFFERENCE", Pair(IntegerForm::kSquaredDifference, a, b, 0.25f, -3)), (Integers{3, 1, 127}));
}

// Of nine channels the first eight round -1 / 2 up, the last away from zero.
TEST(IntegerProducts, ChannelsByEights) {
  IntegerStep step = Product({-2, -2, -2, -2, -2, -2, -2, -2, -2}, 0.25f, 1);
  step.scales.assign(9, 0.25f);
  step.exact_scales.assign(9, 0.25);
  EXPECT_EQ(By("channels by eights", step), (Integers{0, 0, 0, 0, 0, 0, 0, 0, -1}));
}

IntegerStep Rows(IntegerForm form, const std::vector<double>& row, float x_scale, float y_scale, int64_t zero) {
  IntegerStep step = Result8(form, static_cast<int64_t>(row.size()), y_scale, zero);
  step.shape = {1, static_cast<int64_t>(row.size())};
  step.axis = 1;
  step.operands = {{Doubles(row), x_scale, 0, false}};
  return step;
}

TEST(IntegerNorms, SoftmaxInFixedPointAndByTable) {
  const IntegerStep step = Rows(IntegerForm::kSoftmax, {44, -34}, 0.04174451902508736f, 0x1p-8f, -128);
  EXPECT_EQ(By("softmax (exp and 1 / x in fixed point)", step), (Integers{118, -119}));
  EXPECT_EQ(By("optimised rule for softmax", step), (Integers{119, -119}));
  IntegerStep halved = Rows(IntegerForm::kSoftmax, {88, -68}, 0.04174451902508736f, 0x1p-8f, -128);
  halved.beta = 0.5f;
  EXPECT_EQ(By("softmax (exp and 1 / x in fixed point)", halved), (Integers{118, -119}));
}

TEST(IntegerNorms, SoftmaxInFixedPointHasOneGrid) {
  IntegerStep step = Rows(IntegerForm::kSoftmax, {44, -34}, 0.04f, 0x1p-7f, -128);
  EXPECT_TRUE(By("softmax (exp and 1 / x in fixed point)", step).empty());
  step = Rows(IntegerForm::kSoftmax, {44, -340}, 0.04f, 0x1p-8f, -128);  // no row of 8 bits
  EXPECT_TRUE(By("softmax (exp and 1 / x in fixed point)", step).empty());
  step = Rows(IntegerForm::kSoftmax, {44, -34}, 1e9f, 0x1p-8f, -128);
  EXPECT_TRUE(By("softmax (exp and 1 / x in fixed point)", step).empty());
}

TEST(IntegerNorms, LogSoftmaxInFixedPointAndByTable) {
  const IntegerStep step = Rows(IntegerForm::kLogSoftmax, {-11, 22}, 0.010762624442577362f, 0x1p-4f, 127);
  EXPECT_EQ(By("TFLite's rule for LOG_SOFTMAX", step), (Integers{113, 118}));
  EXPECT_EQ(By("optimised rule for LOG_SOFTMAX", step), (Integers{113, 119}));
  const IntegerStep alone = Rows(IntegerForm::kLogSoftmax, {0, -200}, 0.125f, 0x1p-4f, 127);  // the logarithm is 0
  EXPECT_EQ(By("TFLite's rule for LOG_SOFTMAX", alone), (Integers{127, -128}));
  const IntegerStep three = Rows(IntegerForm::kLogSoftmax, {-31, -12, -53}, 0.032138433307409286f, 0x1p-4f, 127);
  EXPECT_EQ(By("TFLite's rule for LOG_SOFTMAX", three), (Integers{108, 117, 96}));
}

// Of 3, -4, 0 and 12 by 13, in steps of 1 / 128.
TEST(IntegerNorms, RootOfSquares) {
  EXPECT_EQ(By("L2_NORM", Rows(IntegerForm::kNorm, {3, -4, 0, 12}, 0.1f, 0x1p-7f, 0)), (Integers{30, -39, 0, 118}));
  EXPECT_EQ(By("L2_NORM", Rows(IntegerForm::kNorm, {0, 0}, 0.1f, 0x1p-7f, 0)), (Integers{0, 0}));
  EXPECT_EQ(By("L2_NORM", Rows(IntegerForm::kNorm, {0, 1}, 0.1f, 0x1p-7f, 0)), (Integers{0, 127}));
  EXPECT_TRUE(By("L2_NORM", Rows(IntegerForm::kNorm, {3, 4}, 0.1f, 0x1p-6f, 0)).empty());
}

// Between 0 and -1 lies a half: up, or away from zero; a quarter of the way between 0 and 10 is 2.5.
TEST(IntegerResizes, HalvesBetweenPixels) {
  IntegerStep step = Result8(IntegerForm::kResize, 2, 1, 0);
  step.shape = {1, 1, 1, 4};
  Tensor x = Tensor::Create(DType::kF64, {1, 1, 1, 2}).value();
  x.data<double>()[0] = 0, x.data<double>()[1] = -1;
  step.operands = {{x, 1, 0, false}};
  auto param = std::make_shared<ResizeParam>();
  param->mode = "linear";
  param->coordinates = "asymmetric";
  step.base.kind = OpKind::kPlumbResize;
  step.base.param = param;
  EXPECT_EQ(By("weights of 11 bits", step), (Integers{0, 0, -1, -1}));
  EXPECT_EQ(By("weights of 10 bits", step), (Integers{0, -1, -1, -1}));
  EXPECT_TRUE(By("RESIZE_BILINEAR of u8 (f32", step).empty());
  step.low = 0;
  step.high = 255;
  step.operands[0].whole.data<double>()[1] = 5;
  EXPECT_EQ(By("rule for RESIZE_BILINEAR of u8 (f32", step), (Integers{0, 3, 5, 5}));
  EXPECT_EQ(By("RESIZE_BILINEAR of u8 (products", step), (Integers{0, 3, 5, 5}));
}

}  // namespace
}  // namespace plumb
