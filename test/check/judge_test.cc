// The slope test: a gain is found, and one rounding error that a constant field repeats is none.
#include "check/judge/judge.h"

#include <gtest/gtest.h>

namespace plumb {
namespace {

// One channel of 1024 values; `distinct` of them differ. The device is off by `gain` everywhere, tau is 1e-3 of each
// value.
OutputReport JudgeGain(int distinct, double gain) {
  const Shape shape({1, 1, 32, 32});
  Tensor device = Tensor::Create(DType::kF32, shape).value();
  Tensor reference = Tensor::Create(DType::kF64, shape).value();
  Tensor tau = Tensor::Create(DType::kF64, shape).value();
  for (int64_t i = 0; i < shape.NumElements(); ++i) {
    const double y = 1 + static_cast<double>(i % distinct) / 1024;
    reference.data<double>()[i] = y;
    device.data<float>()[i] = static_cast<float>(y * (1 + gain));
    tau.data<double>()[i] = 1e-3 * y;
  }
  OutputReport report;
  report.dtype = DType::kF32;
  report.shape = shape;
  Judge({device, reference, tau, true}, &report);
  return report;
}

TEST(SlopeTest, FindsAGainWithinTheBound) {
  const OutputReport report = JudgeGain(1024, 1e-4);
  EXPECT_EQ(report.verdict, Verdict::kWrong);
  EXPECT_NE(report.reason.find("off by the factor"), std::string::npos) << report.reason;
}

TEST(SlopeTest, CountsARepeatedErrorOnce) { EXPECT_EQ(JudgeGain(9, 1e-4).verdict, Verdict::kAligned); }

}  // namespace
}  // namespace plumb
