// SPDX-License-Identifier: Apache-2.0
// The slope test: a gain is found, and one rounding error that a constant field repeats is none.
#include "check/judge/judge.h"

#include <gtest/gtest.h>

#include <cmath>

namespace plumb {
namespace {

// One channel of 1024 values; `distinct` of them differ. The device is off by `gain` everywhere, tau is 1e-3 of each
// value, of which sums that stray are so much: (8 * 1.5 d)^2 = straying tau^2.
OutputReport JudgeGain(int distinct, double gain, double straying = 0) {
  const Shape shape({1, 1, 32, 32});
  Tensor device = Tensor::Create(DType::kF32, shape).value();
  Tensor reference = Tensor::Create(DType::kF64, shape).value();
  Tensor tau = Tensor::Create(DType::kF64, shape).value(), steady = Tensor::Create(DType::kF64, shape).value();
  for (int64_t i = 0; i < shape.NumElements(); ++i) {
    const double y = 1 + static_cast<double>(i % distinct) / 1024;
    reference.data<double>()[i] = y;
    device.data<float>()[i] = static_cast<float>(y * (1 + gain));
    tau.data<double>()[i] = 1e-3 * y;
    steady.data<double>()[i] = 1e-3 * y * std::sqrt(1 - straying);
  }
  OutputReport report;
  report.dtype = DType::kF32;
  report.shape = shape;
  JudgeInput input{device, reference, tau, true};
  input.steady = &steady;
  Judge(input, &report);
  return report;
}

TEST(SlopeTest, FindsAGainWithinTheBound) {
  const OutputReport report = JudgeGain(1024, 1e-4);
  EXPECT_EQ(report.verdict, Verdict::kWrong);
  EXPECT_NE(report.reason.find("off by the factor"), std::string::npos) << report.reason;
}

TEST(SlopeTest, CountsARepeatedErrorOnce) { EXPECT_EQ(JudgeGain(9, 1e-4).verdict, Verdict::kAligned); }

// 1.5 d is 1.21e-4 of each value, or 3.9e-5.
TEST(SlopeTest, LeavesOutWhatSumsStrayBy) {
  EXPECT_EQ(JudgeGain(1024, 1e-4, 0.94).verdict, Verdict::kAligned);
  EXPECT_EQ(JudgeGain(1024, 1e-4, 0.1).verdict, Verdict::kWrong);
}

// All channels are the same, and their sums stray to one side: 49 values are one error each, not 25,088.
TEST(SlopeTest, ChannelsThatAreTheSameSayNoMoreThanTheirLargest) {
  const auto judge = [](double gain) {
    const Shape shape = {1, 512, 7, 7};
    Tensor device = Tensor::Create(DType::kF32, shape).value();
    Tensor reference = Tensor::Create(DType::kF64, shape).value(), tau = Tensor::Create(DType::kF64, shape).value();
    for (int64_t i = 0; i < shape.NumElements(); ++i) {
      const double y = 1 + static_cast<double>(i % 49) / 1024;
      reference.data<double>()[i] = y;
      device.data<float>()[i] = static_cast<float>(y * (1 + gain));
      tau.data<double>()[i] = 1e-3 * y;
    }
    OutputReport report;
    report.dtype = DType::kF32;
    report.shape = shape;
    Judge(JudgeInput{device, reference, tau, true}, &report);
    return report.verdict;
  };
  EXPECT_EQ(judge(2.8e-4), Verdict::kAligned);  // R is 2.24
  EXPECT_EQ(judge(2e-3), Verdict::kGrey);
  EXPECT_EQ(judge(5e-3), Verdict::kWrong);
}

// Most of the channel is `level` steps of int8's grid, as the device rounds it; `gain` before it does.
OutputReport JudgeOnGrid(double level, double gain) {
  const Shape shape = {1, 1, 32, 32};
  Tensor device = Tensor::Create(DType::kF32, shape).value();
  Tensor reference = Tensor::Create(DType::kF64, shape).value(), tau = Tensor::Create(DType::kF64, shape).value();
  for (int64_t i = 0; i < shape.NumElements(); ++i) {
    const double y = level + 0.1 * static_cast<double>(i % 37) / 37 + (i % 32 == 0 ? static_cast<double>(i % 11) : 0);
    reference.data<double>()[i] = y;
    device.data<float>()[i] = static_cast<float>(std::nearbyint(y * (1 + gain)));
    tau.data<double>()[i] = 4;
  }
  OutputReport report;
  report.dtype = DType::kF32;
  report.shape = shape;
  JudgeInput input{device, reference, tau, true};
  input.grid_step = 1;
  Judge(input, &report);
  return report;
}

// Integers of which `ties` of 100 are next to a tie; `different`, each many times, are on the other side.
OutputReport JudgeTies(int64_t different, int64_t ties = 10, bool rounds_once = true) {
  const Shape shape = {1, 100, 16};
  Tensor device = Tensor::Create(DType::kI64, shape).value(), reference = Tensor::Create(DType::kI64, shape).value();
  Tensor tau = Tensor::Create(DType::kF64, shape).value();
  for (int64_t i = 0; i < shape.NumElements(); ++i) {
    reference.data<int64_t>()[i] = i % 100;
    device.data<int64_t>()[i] = i % 100 + (i % 100 < different ? 1 : 0);
    tau.data<double>()[i] = i % 100 < ties ? 1 : 0;
  }
  OutputReport report;
  JudgeInput input{device, reference, tau};
  input.rounds_once = rounds_once;
  Judge(input, &report);
  return report;
}

TEST(Ties, OneThatAFieldRepeatsIsOne) {
  EXPECT_EQ(JudgeTies(3).verdict, Verdict::kAligned);
  EXPECT_EQ(JudgeTies(4).verdict, Verdict::kWrong) << "another rounding rule";
}

// Integers plus 127.49999: all of them lie next to a tie.
TEST(Ties, EverywhereTellNoRule) {
  EXPECT_EQ(JudgeTies(20, 100).verdict, Verdict::kAligned);
  const OutputReport half = JudgeTies(50, 100);
  EXPECT_EQ(half.verdict, Verdict::kGrey);
  EXPECT_NE(half.reason.find("nearly all values are next to"), std::string::npos) << half.reason;
  EXPECT_EQ(JudgeTies(50, 80).verdict, Verdict::kWrong);
  EXPECT_EQ(JudgeTies(50, 100, false).verdict, Verdict::kWrong) << "several roundings leave no values between ties";
}

TEST(SlopeTest, OfAFieldOnAGridIsNotItsRounding) {
  EXPECT_EQ(JudgeOnGrid(5.6, 0).verdict, Verdict::kAligned);
  EXPECT_EQ(JudgeOnGrid(5.6, 0.2).verdict, Verdict::kWrong);
}

}  // namespace
}  // namespace plumb
