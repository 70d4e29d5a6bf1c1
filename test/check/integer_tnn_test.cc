// SPDX-License-Identifier: Apache-2.0
// The rules of TNN's, ncnn's and MNN's integer kernels, each on numbers that were worked out by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "check/integer/integer_rules.h"
#include "integer_rules_util.h"
#include "op/pooling.h"
#include "op/upsample.h"
#include "util/make_layer.h"

namespace plumb {
namespace {

constexpr char kArm[] = "TNN's rule (the sum";
constexpr char kNaive[] = "TNN's naive rule (the sum";

TEST(IntegerTnn, ProductsRoundHalvesAwayFromZero) {
  const IntegerStep step = Product({1, 3, 5, -1, -3, 4, 600, -600}, 0.25f, 0.5f);  // by 2
  EXPECT_EQ(By(kArm, step), (Integers{1, 2, 3, -1, -2, 2, 127, -128}));
  EXPECT_EQ(By(kNaive, step), (Integers{1, 2, 3, -1, -2, 2, 127, -128}));
  EXPECT_EQ(By("TNN", Product({6, -6}, 0.25f, 1)), (Integers{2, -2}));  // rounded once: 1.5
}

// 0.49999997 and a half is 1 in f32.
TEST(IntegerTnn, NaiveKernelsAddAHalfInF32) {
  const IntegerStep step = Product({16777215, -16777215}, 0x1p-25f, 1);
  EXPECT_EQ(By(kArm, step), (Integers{0, 0}));
  EXPECT_EQ(By(kNaive, step), (Integers{1, -1}));
}

// -2.5 + 10 and a half is 8, cut off; 2.5 + 10 and a half 13.
TEST(IntegerTnn, NaiveKernelsRoundBehindTheZeroPoint) {
  const IntegerStep step = Product({5, -5, 1000, -1000}, 0.5f, 1, 10);
  EXPECT_EQ(By(kNaive, step), (Integers{13, 8, 127, -128}));
  EXPECT_TRUE(By(kArm, step).empty());  // it has no zero points
}

TEST(IntegerTnn, ProductsAreLimitedByTheirActivation) {
  IntegerStep step = Product({5, -5, 200}, 0.5f, 1);
  step.low = 0, step.high = 6;
  EXPECT_EQ(By(kArm, step), (Integers{3, 0, 6}));
}

// 3 * 0.5 + 5 * 0.25 is 2.75, in steps of 0.5: 5.5; a difference: 0.25 is half a step.
TEST(IntegerTnn, SumsOfReals) {
  const IntegerOperand a{Doubles({3, -3, 200}), 0.5f, 0, false}, b{Doubles({5, -5, 200}), 0.25f, 0, false};
  IntegerStep step = Pair(IntegerForm::kSum, a, b, 0.5f, 0);
  EXPECT_EQ(By("TNN's rule for sums", step), (Integers{6, -6, 127}));
  EXPECT_EQ(By("TNN's naive rule for sums", step), (Integers{6, -6, 127}));
  step.subtracts = true;
  EXPECT_EQ(By("TNN's naive rule for sums", step), (Integers{1, -1, 100}));
  EXPECT_TRUE(By("TNN's rule for sums", step).empty());
}

TEST(IntegerTnn, MeansAreCutOff) {
  IntegerStep step = Result8(IntegerForm::kMean, 3, 1, 0);
  step.operands = {{Doubles({11, -11, 8}), 1, 0, false}};
  step.count = 4;
  EXPECT_EQ(By("TNN's rule for average pools", step), (Integers{2, -2, 2}));
  step.form = IntegerForm::kWindowMean;
  step.counts = {4, 2, 3};
  EXPECT_EQ(By("TNN's rule for average pools", step), (Integers{2, -5, 2}));
  step.operands[0].zero = step.zero = 1;  // 15 / 4, -9 / 2, 11 / 3
  EXPECT_EQ(By("TNN's rule for average pools", step), (Integers{3, -4, 3}));
  step.scale = 2;  // another grid is none of its
  EXPECT_TRUE(By("TNN's rule for average pools", step).empty());
}

TEST(IntegerTnn, MaxPoolsBeginAboveTheLowest) {
  IntegerStep step = Result8(IntegerForm::kRequantise, 3, 0.5f, 0);
  step.operands = {{Doubles({-128, -127, 5}), 0.5f, 0, false}};
  EXPECT_TRUE(By("TNN's rule for max pools", step).empty());
  Layer pool;
  pool.kind = OpKind::kPooling;
  step.tail_layers = {pool};
  EXPECT_EQ(By("TNN's rule for max pools", step), (Integers{-127, -127, 5}));
}

// Steps of 1 and of 0.5 in steps of 1.
TEST(IntegerTnn, JoinedPartsHaveTheirOwnScale) {
  IntegerStep step = Result8(IntegerForm::kJoin, 5, 1, 0);
  step.axis = 0;
  step.operands = {{Doubles({7, -128}), 1, 0, false}, {Doubles({7, -7, 6}), 0.5f, 0, false}};
  EXPECT_EQ(By("TNN's rule for Concat", step), (Integers{7, -128, 4, -4, 3}));
}

// Between 0 and 10, at 0, 1 / 4, 3 / 4 and behind; a row of 2560 and 7680 of 1024, less what is cut off twice.
TEST(IntegerTnn, UpsampleOf11Bits) {
  IntegerStep step = Result8(IntegerForm::kResize, 4, 1, 0);
  step.shape = {1, 1, 1, 4};
  Tensor x = Tensor::Create(DType::kF64, {1, 1, 1, 2}).value();
  x.data<double>()[0] = 0, x.data<double>()[1] = 10;
  step.operands = {{x, 1, 0, false}};
  auto param = std::make_shared<UpsampleParam>();
  param->mode = kUpsampleLinear;
  step.base.kind = OpKind::kUpsample;
  step.base.param = param;
  EXPECT_EQ(By("TNN's rule for Upsample (", step), (Integers{0, 3, 8, 10}));  // 2.5 and 7.5
  EXPECT_EQ(By("TNN's naive rule for Upsample", step), (Integers{0, 3, 8, 10}));
  x.data<double>()[1] = -10;
  EXPECT_EQ(By("TNN's rule for Upsample (", step), (Integers{0, -2, -7, -10}));
  EXPECT_EQ(By("TNN's naive rule for Upsample", step), (Integers{0, -3, -8, -10}));
}

// One row at 1 / 4 and one at 3 / 4 of what is 1 step apart: cut off once, or each.
TEST(IntegerTnn, UpsampleCutsBothRowsAtOnceOrEach) {
  IntegerStep step = Result8(IntegerForm::kResize, 2, 1, 0);
  step.shape = {1, 1, 4, 1};
  Tensor x = Tensor::Create(DType::kF64, {1, 1, 2, 1}).value();
  x.data<double>()[0] = 1, x.data<double>()[1] = -1;
  step.operands = {{x, 1, 0, false}};
  auto param = std::make_shared<UpsampleParam>();
  param->mode = kUpsampleLinear;
  step.base.kind = OpKind::kUpsample;
  step.base.param = param;
  // Rows of 128 and -128 (2048 less 4 bits). At 1 / 4: 1536 * 128 - 512 * 128 is 2 of 65536, and 3 - 1 of them, too.
  EXPECT_EQ(By("TNN's rule for Upsample (", step), (Integers{1, 1, 0, -1}));
  EXPECT_EQ(By("TNN's rule for Upsample without", step), (Integers{1, 1, 0, -1}));
  x.data<double>()[1] = -2;  // 1536 * 128 - 512 * 256 is 1, and 3 - 2; 512 * 128 - 1536 * 256 is -5, and 1 - 6
  EXPECT_EQ(By("TNN's rule for Upsample (", step), (Integers{1, 0, -1, -2}));
}

// Steps of 1 / 8 by steps of 1 / 4, biases of 2 and of 1 / 64 of a step: 5 / 32 + 1 / 16 is 7 / 32, in steps of 1 /
// 64: 14.
TEST(IntegerNcnn, ProductsHaveAFloatForBias) {
  IntegerStep step = Product({7, 5}, 0x1p-5f, 0x1p-6f);
  step.x.scale = 0x1p-3f;
  step.weight_scales = {0x1p-2f, 0x1p-2f};
  step.scales = {0x1p-5f, 0x1p-5f};
  step.bias = {2, 0};
  step.real_bias = {0x1p-4f, 0x1p-11f};
  EXPECT_EQ(By("ncnn's rule (", step), (Integers{14, 10}));  // 10 and 1 / 32
  EXPECT_EQ(By("ncnn's rule by FMA", step), (Integers{14, 10}));
  step.real_bias[1] = 0x1p-7f;  // half a step, away from zero
  EXPECT_EQ(By("ncnn's rule (", step), (Integers{14, 11}));
}

TEST(IntegerNcnn, IntegersBeginAt127BelowZero) {
  IntegerStep step = Product({-500, -127, 500}, 1, 1);
  step.x.scale = 1;
  step.weight_scales = {1};
  EXPECT_EQ(By("ncnn's rule (", step), (Integers{-127, -127, 127}));
  step.low = 0;  // a ReLU
  EXPECT_EQ(By("ncnn's rule (", step), (Integers{0, 0, 127}));
  step.zero = 1;
  EXPECT_TRUE(By("ncnn's rule (", step).empty());
}

// Two channels of a depth-wise convolution whose integers came from these inverses of 1 / 37.
constexpr int kEach = 4000;
IntegerStep Depthwise(const std::vector<float>& inverses) {
  std::vector<double> sums;
  for (int i = 0; i < 2 * kEach; ++i) sums.push_back(static_cast<double>(i % kEach * 7919 % 30011 - 15000));
  IntegerStep step = Product(sums, 1 / 37.0f, 4);
  step.x.scale = 1 / 37.0f;
  step.weight_scales = step.scales = {1, 1};
  step.inner = kEach;
  step.bias = {0, 3};
  step.real_bias = {0, 0.11f};
  step.product.kind = OpKind::kConvolution;
  step.product.resources["weight"] = Tensor::Zeros(DType::kF32, {2, 1, 3, 3}).value();
  for (int i = 0; i < 2 * kEach; ++i) {
    const auto c = static_cast<size_t>(i / kEach);
    const auto terms = static_cast<float>(sums[static_cast<size_t>(i)] - step.bias[c]);
    const float real = terms * inverses[c] + step.real_bias[c];
    step.written.push_back(std::clamp<int64_t>(std::lround(real * 0.25f), -127, 127));
  }
  return step;
}

// RCPPS of Intel rounds a table to 12 bits, that of AMD has another one; both are within 1.5 / 4096.
TEST(IntegerNcnn, DepthwiseMayHaveAnyInverseOfRcpps) {
  constexpr char kDepthwise[] = "ncnn's rule for depth-wise";
  const float exact = 1 / 37.0f, intel = std::ldexp(std::nearbyint(std::ldexp(exact, 17)), -17);
  ASSERT_NE(intel, exact);
  for (const auto& inverses : {std::vector<float>{intel, intel},
                               {exact * (1 + 1.4f / 4096), exact * (1 - 1.4f / 4096)},
                               {exact, exact * (1 + 0.9f / 4096)}}) {
    IntegerStep step = Depthwise(inverses);
    EXPECT_EQ(By(kDepthwise, step), step.written);
    EXPECT_NE(By("ncnn's rule (", step), step.written);
    ++step.written[17];
    Integers one_off = By(kDepthwise, step);
    EXPECT_EQ(one_off[17], step.written[17] - 1);  // no inverse gives it and the others
    one_off[17] = step.written[17];
    EXPECT_EQ(one_off, step.written);
  }
  const IntegerStep beyond = Depthwise({exact * (1 + 1.7f / 4096), exact});
  EXPECT_NE(By(kDepthwise, beyond), beyond.written);
  IntegerStep unknown = beyond;
  unknown.written.clear();
  EXPECT_TRUE(By(kDepthwise, unknown).empty());
}

// Steps of 1 / 8 with -3 for zero by steps of 1 / 4, onto steps of 1 / 64 with 10 for zero. `weights`: four of them.
IntegerStep MnnConvolution(const std::vector<double>& sums, const Shape& shape, const std::vector<float>& weights) {
  IntegerStep step = Product(sums, 0x1p-5f, 0x1p-6f, 10);
  step.x.scale = 0x1p-3f;
  step.x.zero = -3;
  step.scales.resize(static_cast<size_t>(shape[0]), 0x1p-5f);
  step.weight_scales.resize(step.scales.size(), 0x1p-2f);
  step.product.kind = OpKind::kConvolution;
  Tensor weight = Tensor::Create(DType::kF32, shape).value();
  std::copy(weights.begin(), weights.end(), weight.data<float>());
  step.product.resources["weight"] = weight;
  step.knows_terms = true;
  return step;
}

// A half is added behind the zero point: 7 by 2 and 10 is 24, with half a step 24.5 and 25; -5 by 2 and 10 less half a
// step is -0.5 and -1.
TEST(IntegerMnn, ProductsHaveAFloatForBiasAndZeroPoint) {
  constexpr char kDense[] = "MNN's rule (the sum";
  IntegerStep step = MnnConvolution({7, -5}, {2, 2, 1, 1}, {1, 2, 3, -1});
  EXPECT_EQ(By(kDense, step), (Integers{24, 0}));
  step.sums.data<double>()[0] += 0.25, step.sums.data<double>()[1] -= 0.25;
  step.bias = {0.25, -0.25};
  step.real_bias = {0x1p-7f, -0x1p-7f};
  EXPECT_EQ(By(kDense, step), (Integers{25, -1}));
  EXPECT_TRUE(By("MNN's rule for depth-wise", step).empty());
  step.sums.data<double>()[0] = -1000.25, step.sums.data<double>()[1] = 1000.25;
  EXPECT_EQ(By(kDense, step), (Integers{-127, 127}));
  step.knows_terms = false;
  EXPECT_TRUE(By(kDense, step).empty());
}

// 7 and 1 of the bias of 1.9 steps, and 5 steps for the zero point of 10, by 2.
TEST(IntegerMnn, DepthwiseConvolutionsCutTheirBiasOff) {
  IntegerStep step = MnnConvolution({8.9, -5}, {2, 1, 1, 2}, {1, 2, 3, -1});
  step.bias = {1.9, 0};
  step.real_bias = {1.9f * 0x1p-5f, 0};
  EXPECT_EQ(By("MNN's rule for depth-wise", step), (Integers{26, 0}));
  EXPECT_TRUE(By("MNN's rule (the sum", step).empty());
}

// The larger of -3 and 5 by 3 and 5, and as MNN 3.6.1 compares them: as 125 and -123.
TEST(IntegerMnn, MaxPoolsMayCompareSignedBytes) {
  IntegerStep step = Result8(IntegerForm::kRequantise, 2, 1, 0);
  step.shape = {1, 1, 1, 2};
  Tensor x = Tensor::Create(DType::kF64, step.shape).value();
  x.data<double>()[0] = -3, x.data<double>()[1] = 5;
  step.operands = {{x, 1, 0, false}};
  auto pool = std::make_shared<PoolingParam>();
  pool->kernel_w = pool->stride_w = 2;
  pool->kernel_h = pool->stride_h = 1;
  Layer layer = MakeLayer(OpKind::kPooling, "pool", {"x"}, {"y"});
  layer.param = pool;
  EXPECT_TRUE(By("MNN's rule for max pools", step).empty());
  step.tail_layers = {layer};
  step.tail.inputs = {{0, 0, "x"}};
  step.tail.outputs = {{0, 0, "y"}};
  step.tail_inputs.resize(1);
  const Integers whole = By("MNN's rule for max pools", step);
  EXPECT_EQ(whole, (Integers{-3, 5}));
  BlobTable blobs;
  blobs["x"].shape = step.shape;
  blobs["y"].shape = {1, 1, 1, 1};
  blobs["x"].dtype = blobs["y"].dtype = DType::kF32;
  EXPECT_EQ(BehindTail(step, blobs, whole).value().data<int64_t>()[0], 5);
  step.signed_bytes = true;
  EXPECT_EQ(BehindTail(step, blobs, whole).value().data<int64_t>()[0], -3);
}

// 3 by 0.5 and 5 by 0.25 is 5.5 steps, away from zero, and 10.
TEST(IntegerMnn, SumsAddTheZeroPointBehind) {
  const IntegerOperand a{Doubles({3, -3, -300}), 0.5f, 7, false}, b{Doubles({5, -5, 0}), 0.25f, 0, false};
  const IntegerStep step = Pair(IntegerForm::kSum, a, b, 0.5f, 10);
  EXPECT_EQ(By("MNN's rule for sums", step), (Integers{16, 4, -127}));
}

TEST(IntegerTnn, SayNothingOfWhatIsNoNumber) {
  for (const double sum : {3e9, -3e9, static_cast<double>(INFINITY), static_cast<double>(NAN)}) {
    EXPECT_TRUE(By(kArm, Product({sum}, 0.1f, 0.2f)).empty()) << sum;
    EXPECT_TRUE(By(kNaive, Product({sum}, 0.1f, 0.2f)).empty()) << sum;
  }
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const IntegerOperand a{Doubles({3}), nan, 0, false}, b{Doubles({5}), 1, 0, false};
  EXPECT_TRUE(By("TNN's rule for sums", Pair(IntegerForm::kSum, a, b, 1, 0)).empty());
  EXPECT_TRUE(By("TNN's naive rule for sums", Pair(IntegerForm::kSum, a, b, 1, 0)).empty());
}

}  // namespace
}  // namespace plumb
