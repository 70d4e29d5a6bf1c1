// SPDX-License-Identifier: Apache-2.0
// Does the bound of average pooling tell rounding from faults? fp32 pools as devices write them must stay inside E <=
// 1, R <= 2 of tolerance.md, also over constant fields; a wrong divisor, x1.001 and an fp16 result must leave it (E > 4
// or R > 2).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>

#include "base/half.h"
#include "op/pooling.h"
#include "reference/core/reference_op.h"

namespace plumb {
namespace {

struct Pool {
  const char* name;
  int size, kernel, stride, pad;  // kernel 0: the whole input
  bool constant;
};

const Pool kPools[] = {
    {"k3s1p1", 17, 3, 1, 1, false},  {"k5s2p2", 23, 5, 2, 2, false},     {"global_56", 56, 0, 1, 0, false},
    {"global_7", 7, 0, 1, 0, false}, {"global_112", 112, 0, 1, 0, true}, {"k3s1p1_constant", 9, 3, 1, 1, true},
};
constexpr int64_t kChannels = 6;

struct Judged {
  double e = 0, r = 0;
  bool healthy() const { return e <= 1 && r <= 2; }
  bool wrong() const { return e > 4 || r > 2; }
  std::string ToString() const { return "E " + std::to_string(e) + " R " + std::to_string(r); }
};

class PoolingBoundTest : public testing::TestWithParam<Pool> {
 protected:
  void SetUp() override {
    const Pool& p = GetParam();
    auto param = std::make_shared<PoolingParam>();
    param->pool_type = kPoolAverage;
    param->kernel_h = param->kernel_w = p.kernel;
    param->stride_h = param->stride_w = p.stride;
    param->pad_h = param->pad_w = p.pad;
    param->pad_type = kPadExplicit;
    layer_.kind = OpKind::kPooling;
    layer_.param = param;
    x_ = Tensor::Create(DType::kF64, {1, kChannels, p.size, p.size}).value();
    std::mt19937 random(3);
    std::normal_distribution<float> gauss;
    for (int64_t i = 0; i < x_.NumElements(); ++i) {
      x_.data<double>()[i] = p.constant ? 1.1f : std::max(gauss(random), 0.0f);
    }
    const auto shape = ResolvePooling(layer_, x_.shape());
    ASSERT_TRUE(shape.ok()) << shape.status().ToString();
    window_ = shape->window;
    y_ = Tensor::Create(DType::kF64, {1, kChannels, window_.h.out, window_.w.out}).value();
    tau_ = Tensor::Create(DType::kF64, y_.shape()).value();
    BoundArgs bound;
    bound.level = GetReferenceOp(OpKind::kPooling).max_level;
    bound.tau = {&tau_};
    ASSERT_TRUE(GetReferenceOp(OpKind::kPooling).run_with_bound({layer_, {&x_}, {&y_}}, bound).ok());
  }

  // kernel(terms of one window) -> fp32 average.
  template <class F>
  Judged Judge(F kernel) const {
    Judged judged;
    double sum = 0;
    for (int64_t i = 0; i < y_.NumElements(); ++i) {
      const double error = std::fabs(static_cast<double>(kernel(TermsOf(i))) - y_.data<double>()[i]);
      judged.e = std::max(judged.e, error / tau_.data<double>()[i]);
      sum += 64 * (error / tau_.data<double>()[i]) * (error / tau_.data<double>()[i]);
    }
    judged.r = std::sqrt(sum / static_cast<double>(y_.NumElements()));
    return judged;
  }

 private:
  std::vector<float> TermsOf(int64_t output) const {
    const WindowAxis& h = window_.h;
    const WindowAxis& w = window_.w;
    const int64_t c = output / (h.out * w.out), oh = output / w.out % h.out, ow = output % w.out;
    std::vector<float> terms;
    for (int64_t i = oh * h.stride - h.pad_begin; i < oh * h.stride - h.pad_begin + h.kernel; ++i) {
      for (int64_t j = ow * w.stride - w.pad_begin; j < ow * w.stride - w.pad_begin + w.kernel; ++j) {
        if (i < 0 || i >= h.in || j < 0 || j >= w.in) continue;
        terms.push_back(static_cast<float>(x_.data<double>()[(c * h.in + i) * w.in + j]));
      }
    }
    return terms;
  }

  Layer layer_;
  Window2D window_;
  Tensor x_, y_, tau_;
};

float Serial(const std::vector<float>& terms) {
  float sum = 0;
  for (float t : terms) sum += t;
  return sum / static_cast<float>(terms.size());
}

float ScaledFirst(const std::vector<float>& terms) {
  float sum = 0;
  for (float t : terms) sum += t * (1 / static_cast<float>(terms.size()));
  return sum;
}

float Lanes(const std::vector<float>& terms) {
  float lane[8] = {};
  for (size_t i = 0; i < terms.size(); ++i) lane[i % 8] += terms[i];
  const float sum = ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]));
  return sum / static_cast<float>(terms.size());
}

TEST_P(PoolingBoundTest, HealthyKernelsStayInside) {
  for (auto* kernel : {Serial, ScaledFirst, Lanes}) {
    const Judged judged = Judge(kernel);
    EXPECT_TRUE(judged.healthy()) << judged.ToString();
  }
}

TEST_P(PoolingBoundTest, PlantedFaultsLeaveIt) {
  const Judged scaled = Judge([](const std::vector<float>& terms) { return Lanes(terms) * 1.001f; });
  EXPECT_TRUE(scaled.wrong()) << "x1.001: " << scaled.ToString();
  const Judged fewer = Judge([](const std::vector<float>& terms) {
    return Lanes(terms) * static_cast<float>(terms.size()) / static_cast<float>(terms.size() + 1);
  });
  // Over 112 x 112 constants a divisor off by one is 8e-5, what a serial fp32 sum may do too.
  if (std::string(GetParam().name) != "global_112") {
    EXPECT_TRUE(fewer.wrong()) << "divisor n + 1: " << fewer.ToString();
  }
  if (GetParam().constant) return;
  const Judged half = Judge([](const std::vector<float>& terms) { return HalfToFloat(FloatToHalf(Lanes(terms))); });
  EXPECT_TRUE(half.wrong()) << "fp16 result: " << half.ToString();
}

INSTANTIATE_TEST_SUITE_P(Pools, PoolingBoundTest, testing::ValuesIn(kPools),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace plumb
