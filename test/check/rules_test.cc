// SPDX-License-Identifier: Apache-2.0
#include "plumb/diff.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace plumb {
namespace {

template <class T>
Tensor Make(std::vector<T> values) {
  Tensor t = Tensor::Create(DTypeOf<T>::value, {static_cast<int64_t>(values.size())}).value();
  std::copy(values.begin(), values.end(), t.data<T>());
  return t;
}

bool Pass(ComparisonRule::Kind kind, const Tensor& a, const Tensor& b) {
  ComparisonRule rule;
  rule.kind = kind;
  return CompareByRule(rule, a, b).value().pass;
}

TEST(Rules, DefaultScalesWithTheBlob) {
  EXPECT_TRUE(Pass(ComparisonRule::kDefault, Make<float>({100.0f, 0.0009f}), Make<float>({100.05f, 0.f})));
  EXPECT_FALSE(Pass(ComparisonRule::kDefault, Make<float>({1.0f, 0.0009f}), Make<float>({1.0f, 0.f})));
}

TEST(Rules, NonFiniteMustAgree) {
  for (auto kind : {ComparisonRule::kDefault, ComparisonRule::kAllClose, ComparisonRule::kTnn}) {
    EXPECT_FALSE(Pass(kind, Make<float>({NAN, 1}), Make<float>({0, 1})));
    EXPECT_FALSE(Pass(kind, Make<float>({INFINITY}), Make<float>({-INFINITY})));
    EXPECT_TRUE(Pass(kind, Make<float>({NAN, INFINITY, 1}), Make<float>({NAN, INFINITY, 1})));
  }
  EXPECT_FALSE(Pass(ComparisonRule::kCosine, Make<float>({NAN, 1}), Make<float>({NAN, 1})));
}

TEST(Rules, TnnLetsSmallValuesPass) {
  EXPECT_TRUE(Pass(ComparisonRule::kTnn, Make<float>({0.0009f}), Make<float>({0.f})));
  EXPECT_FALSE(Pass(ComparisonRule::kTnn, Make<float>({1.02f}), Make<float>({1.f})));
}

TEST(Rules, CosineIsBlindToScale) {
  EXPECT_TRUE(Pass(ComparisonRule::kCosine, Make<float>({2, 4}), Make<float>({1, 2})));
  EXPECT_FALSE(Pass(ComparisonRule::kCosine, Make<float>({2, -4}), Make<float>({1, 2})));
}

TEST(Rules, IntegerDifferencesDoNotOverflow) {
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min(), kMax = std::numeric_limits<int64_t>::max();
  EXPECT_FALSE(Pass(ComparisonRule::kTnn, Make<int64_t>({kMin}), Make<int64_t>({kMax})));
  EXPECT_FALSE(Pass(ComparisonRule::kDefault, Make<int64_t>({kMax}), Make<int64_t>({kMax - 1})));
  EXPECT_TRUE(Pass(ComparisonRule::kTnn, Make<int64_t>({kMax}), Make<int64_t>({kMax - 1})));
  EXPECT_FALSE(Pass(ComparisonRule::kTnn, Make<int8_t>({-1}), Make<int8_t>({1})));
}

TEST(Rules, CountsMustAgree) {
  EXPECT_EQ(CompareByRule({}, Make<float>({1}), Make<float>({1, 2})).status().code(), StatusCode::kMismatch);
}

}  // namespace
}  // namespace plumb
