// SPDX-License-Identifier: Apache-2.0
// JudgeCall and ToleranceOf over tensors in memory; test/tools/judge has the many problems.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "plumb/judge.h"

namespace plumb {
namespace {

Tensor Floats(const std::vector<float>& values, Shape shape) {
  Tensor tensor = Tensor::Create(DType::kF32, std::move(shape)).value();
  std::copy(values.begin(), values.end(), tensor.data<float>());
  return tensor;
}

const Tensor& Input() {
  static const auto* x = new Tensor(Floats({1, 2, 3, 4, -1, 0, 0.5f, 8}, {2, 4}));
  return *x;
}

Tensor SoftmaxOf(const Tensor& x, float factor) {
  Tensor y = x.Clone().value();
  for (int64_t row = 0; row < x.shape()[0]; ++row) {
    const int64_t size = x.shape()[1];
    float* values = y.data<float>() + row * size;
    const float most = *std::max_element(values, values + size);
    float sum = 0;
    for (int64_t i = 0; i < size; ++i) sum += values[i] = std::exp(values[i] - most);
    for (int64_t i = 0; i < size; ++i) values[i] *= factor / sum;
  }
  return y;
}

TEST(JudgeCall, ARightOutputIsAligned) {
  const auto judgement = JudgeCall({"softmax", {Input()}, {{"axis", int64_t{-1}}}}, {SoftmaxOf(Input(), 1)});
  ASSERT_TRUE(judgement.ok()) << judgement.status().ToString();
  EXPECT_EQ(judgement->verdict, Verdict::kAligned) << judgement->Describe();
  EXPECT_EQ(judgement->computed_as, "fp32");
  EXPECT_LT(judgement->Worst().report.excess, 1);
}

TEST(JudgeCall, AWrongOneHasItsWorstElement) {
  const auto judgement = JudgeCall({"Softmax", {Input()}}, {SoftmaxOf(Input(), 1.01f)});
  ASSERT_TRUE(judgement.ok()) << judgement.status().ToString();
  EXPECT_EQ(judgement->verdict, Verdict::kWrong);
  const JudgedElement& worst = judgement->Worst().worst;
  ASSERT_EQ(worst.index.size(), 2u);
  EXPECT_NEAR(worst.actual, 1.01 * worst.expected, 1e-6);
  EXPECT_GT(std::fabs(worst.actual - worst.expected), 4 * worst.tau);
}

TEST(JudgeCall, ATnnTypeTakesItsWeightsBehindItsInputs) {
  const Tensor weight = Floats({1, 0, 0, 0, 0, 1, 0, 0}, {2, 4});
  const OperatorCall call{"InnerProduct", {Input(), weight}, {{"num_output", int64_t{2}}, {"axis", int64_t{1}}}};
  const auto right = JudgeCall(call, {Floats({1, 2, -1, 0}, {2, 2})});
  ASSERT_TRUE(right.ok()) << right.status().ToString();
  EXPECT_EQ(right->verdict, Verdict::kAligned) << right->Describe();
  EXPECT_EQ(JudgeCall(call, {Floats({1, 2, -1, 1}, {2, 2})})->verdict, Verdict::kWrong);
}

TEST(JudgeCall, AWholeNumberMayStandForAFloat) {
  const OperatorCall call{"leaky_relu", {Input()}, {{"negative_slope", int64_t{2}}}};
  const auto judgement = JudgeCall(call, {Floats({1, 2, 3, 4, -2, 0, 0.5f, 8}, {2, 4})});
  ASSERT_TRUE(judgement.ok()) << judgement.status().ToString();
  EXPECT_EQ(judgement->verdict, Verdict::kAligned) << judgement->Describe();
}

TEST(JudgeCall, WhatCannotBeJudgedIsOneSentence) {
  const auto message = [](const OperatorCall& call, const std::vector<Tensor>& outputs) {
    return JudgeCall(call, outputs).status().message();
  };
  EXPECT_EQ(message({"softmaxx", {Input()}}, {Input()}),
            "there is no operator 'softmaxx' here; did you mean 'softmax'?; doc/judge.md has the names beside ONNX's "
            "and TNN's");
  EXPECT_EQ(message({"softmax", {Input()}, {{"axs", int64_t{1}}}}, {Input()}),
            "softmax has no attribute 'axs' that is known here");
  EXPECT_EQ(message({"softmax", {}}, {Input()}), "softmax: no input is given");
  EXPECT_EQ(message({"softmax", {Input()}}, {}), "softmax: no output is given");
  EXPECT_EQ(message({"swiglu", {Input()}}, {Input()}), "swiglu takes 2 inputs, found 1");
  EXPECT_EQ(message({"InnerProduct", {Tensor(), Input()}}, {Input()}), "InnerProduct needs its input 0");
  EXPECT_EQ(message({"net.onnx", {Input()}, {{"axis", int64_t{1}}}}, {Input()}),
            "model 'net.onnx' takes no attributes, found 'axis'");
  const Tensor whole = Tensor::Zeros(DType::kI64, {2, 4}).value();
  EXPECT_EQ(message({"softmax", {Input()}}, {whole}), "output 0 is i64, the operator gives f32");
}

TEST(JudgeCall, AnotherShapeIsWrongInEveryArithmetic) {
  const Tensor weight = Floats({1, 0, 0, 0.5f}, {4, 1});
  for (const char* arithmetic : {"fp32", "fp16", "fp16+f16-sums", "tf32"}) {
    JudgeCallOptions options;
    options.arithmetic = ParseCallArithmetic(arithmetic).value();
    const auto judgement = JudgeCall({"matmul", {Input(), weight}}, {Floats({3}, {1, 1})}, options);
    ASSERT_TRUE(judgement.ok()) << judgement.status().ToString();
    EXPECT_EQ(judgement->verdict, Verdict::kWrong) << arithmetic << ": " << judgement->Describe();
    EXPECT_EQ(judgement->outputs[0].report.verdict, Verdict::kWrong) << arithmetic;
    EXPECT_NE(judgement->Describe().find("has the shape [1,1], expected [2,1]"), std::string::npos)
        << judgement->Describe();
  }
}

TEST(JudgeCall, NotANumberWhereTheReferenceHasNoneIsRight) {
  const Tensor x = Floats({1, 2, NAN}, {3});
  const float one = std::exp(1.0f), two = std::exp(2.0f);
  EXPECT_EQ(JudgeCall({"exp", {x}}, {Floats({one, two, NAN}, {3})})->verdict, Verdict::kAligned);
  EXPECT_EQ(JudgeCall({"exp", {x}}, {Floats({one, NAN, NAN}, {3})})->verdict, Verdict::kWrong);
  // As vector instructions lose it.
  EXPECT_EQ(JudgeCall({"exp", {x}}, {Floats({one, two, 1}, {3})})->verdict, Verdict::kGrey);
}

TEST(ToleranceOf, ThePairAllowsEveryTau) {
  const auto allowed = ToleranceOf({"softmax", {Input()}});
  ASSERT_TRUE(allowed.ok()) << allowed.status().ToString();
  ASSERT_EQ(allowed->size(), 1u);
  const CallTolerance& one = allowed->front();
  for (int64_t i = 0; i < one.tau.NumElements(); ++i)
    EXPECT_LE(one.tau.ValueAt(i), one.atol + one.rtol * std::fabs(one.expected.ValueAt(i)));
  EXPECT_GT(one.tau.ValueAt(0), 0);
}

TEST(ToleranceOf, EveryNarrowerArithmeticAllowsMore) {
  double before = 0;
  for (const char* name : {"fp32", "fp16", "fp16+f16-sums", "bf16", "bf16+bf16-sums"}) {
    const Tensor weight = Floats({1, 0.5f, 0.25f, 3}, {4, 1});
    const auto allowed = ToleranceOf({"matmul", {Input(), weight}}, ParseCallArithmetic(name).value());
    ASSERT_TRUE(allowed.ok()) << name << ": " << allowed.status().ToString();
    EXPECT_GT(allowed->front().tau.ValueAt(0), before) << name;
    before = allowed->front().tau.ValueAt(0);
  }
  EXPECT_FALSE(ParseCallArithmetic("fp17").ok());
}

}  // namespace
}  // namespace plumb
