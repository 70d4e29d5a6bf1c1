// SPDX-License-Identifier: Apache-2.0
// How far Softmax carries the errors of its inputs: beside what drawn errors do, small ones and ones that turn the
// order of the scores; keys that are hidden move nothing.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "op/softmax.h"
#include "reference/core/reference_op.h"
#include "util/make_layer.h"

namespace plumb {
namespace {

struct Bounded {
  Tensor y, tau;
};

Tensor Row(const std::vector<double>& values) {
  Tensor tensor = Tensor::Create(DType::kF64, {1, static_cast<int64_t>(values.size())}).value();
  std::copy(values.begin(), values.end(), tensor.data<double>());
  return tensor;
}

// tau of inputs that are off by input_tau, in arithmetic that rounds nothing.
Bounded BoundedSoftmax(OpKind kind, const Tensor& x, const Tensor* input_tau) {
  const Layer layer = MakeLayer(kind, "softmax", {"x"}, {"y"});
  Bounded out{Tensor::Create(DType::kF64, x.shape()).value(), Tensor::Create(DType::kF64, x.shape()).value()};
  BoundArgs bound;
  bound.arithmetic.u = bound.arithmetic.u_out = 0;
  bound.input_tau = {input_tau};
  bound.tau = {&out.tau};
  EXPECT_TRUE(GetReferenceOp(kind).run_with_bound({layer, {&x}, {&out.y}}, bound).ok());
  return out;
}

// rms over draws of 8 |y' - y| / tau of one element, tau being eight standard deviations.
std::vector<double> DrawnOverBound(OpKind kind, const std::vector<double>& x, double scale) {
  std::mt19937 random(3);
  std::normal_distribution<double> normal;
  std::vector<double> taus;
  for (size_t i = 0; i < x.size(); ++i) taus.push_back(scale * (1 + static_cast<double>(i % 3)));
  const Tensor row = Row(x), tau = Row(taus);
  const Bounded bounded = BoundedSoftmax(kind, row, &tau);
  std::vector<double> sums(x.size());
  constexpr int kDraws = 4000;
  for (int draw = 0; draw < kDraws; ++draw) {
    std::vector<double> moved = x;
    for (size_t i = 0; i < x.size(); ++i) moved[i] += taus[i] / 8 * normal(random);
    const Bounded other = BoundedSoftmax(kind, Row(moved), nullptr);
    for (size_t i = 0; i < x.size(); ++i) {
      const double e = other.y.data<double>()[i] - bounded.y.data<double>()[i];
      sums[i] += std::pow(8 * e / bounded.tau.data<double>()[i], 2) / kDraws;
    }
  }
  for (double& sum : sums) sum = std::sqrt(sum);
  return sums;
}

const std::vector<double> kScores = {3, 2.5, 1, 0, -1, -4, 2.9, -20};

TEST(SoftmaxBound, IsWhatDrawnErrorsDo) {
  for (const OpKind kind : {OpKind::kSoftmax, OpKind::kLogSoftmax}) {
    for (const double scale : {1e-4, 1e-2}) {
      const std::vector<double> ratio = DrawnOverBound(kind, kScores, scale);
      for (size_t i = 0; i < ratio.size(); ++i) EXPECT_NEAR(ratio[i], 1, 0.05) << scale << " at " << i;
    }
  }
}

// Errors of whole units: draws stay healthy (R), and a standard deviation is no more than a weight can move by.
TEST(SoftmaxBound, HoldsForErrorsThatTurnTheOrder) {
  for (const double scale : {4.0, 100.0}) {
    for (const double ratio : DrawnOverBound(OpKind::kSoftmax, kScores, scale)) EXPECT_LT(ratio, 2) << scale;
  }
  const Tensor row = Row(kScores), tau = Row(std::vector<double>(kScores.size(), 480));
  const Bounded bounded = BoundedSoftmax(OpKind::kSoftmax, row, &tau);
  for (int64_t i = 0; i < row.NumElements(); ++i) {
    const double p = bounded.y.data<double>()[i], t = bounded.tau.data<double>()[i];
    EXPECT_LE(t, 8 * std::max(p, 1 - p) * (1 + 1e-9));
    EXPECT_GE(t, 0.5 * (1 - p)) << "a weight that may become 1";
  }
}

TEST(SoftmaxBound, HiddenKeysMoveNothing) {
  const double inf = std::numeric_limits<double>::infinity();
  const Tensor row = Row({1, 0.5, -inf, -1e9, -3.4e38}), tau = Row({1e-6, 1e-6, inf, 480, 1.6e32});
  const Tensor two = Row({1, 0.5}), two_tau = Row({1e-6, 1e-6});
  const Bounded all = BoundedSoftmax(OpKind::kSoftmax, row, &tau),
                seen = BoundedSoftmax(OpKind::kSoftmax, two, &two_tau);
  for (int64_t i = 0; i < 2; ++i) EXPECT_NEAR(all.tau.data<double>()[i] / seen.tau.data<double>()[i], 1, 1e-9);
  for (int64_t i = 2; i < 5; ++i) EXPECT_LT(all.tau.data<double>()[i], 1e-30);
}

}  // namespace
}  // namespace plumb
