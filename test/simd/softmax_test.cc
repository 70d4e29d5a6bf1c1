// SPDX-License-Identifier: Apache-2.0
// Softmax and log-softmax against float64 on every ISA, with the tolerance of the first-order error analysis: rows,
// columns, splits, in place, large spreads, constants, NaN and infinities.
#include "simd/softmax.h"

#include <algorithm>

#include "simd/simd_test_util.h"

namespace plumb::simd {
namespace {

void Check(const std::vector<float>& src, int64_t n, int64_t inner, bool log) {
  std::vector<float> dst = src;
  dst.push_back(777.0f);
  const int64_t split = inner / 2;
  Softmax(log, dst.data(), n, inner, 0, split, dst.data());
  Softmax(log, dst.data(), n, inner, split, inner, dst.data());
  ASSERT_EQ(dst.back(), 777.0f);
  for (int64_t c = 0; c < inner; ++c) {
    double max = -HUGE_VAL, sum = 0, distance = 0;
    for (int64_t i = 0; i < n; ++i) max = std::max(max, static_cast<double>(src[i * inner + c]));
    for (int64_t i = 0; i < n; ++i) sum += std::exp(src[i * inner + c] - max);
    for (int64_t i = 0; i < n; ++i) {
      const double p = std::exp(src[i * inner + c] - max) / sum;
      if (p > 0) distance += p * (max - src[i * inner + c]);
    }
    for (int64_t i = 0; i < n; ++i) {
      const double t = src[i * inner + c] - max, y = log ? t - std::log(sum) : std::exp(t) / sum;
      const double tau = log ? 12 * kU * std::sqrt(y * y + std::log(sum) * std::log(sum) + distance * distance + 0.34)
                             : 12 * y * kU * std::sqrt(4 + t * t + distance * distance) + 12 * kEta;
      ASSERT_LE(ErrorInTau(dst[i * inner + c], y, tau), 0.25)
          << (log ? "log-softmax" : "softmax") << " n " << n << " inner " << inner << " row " << i << " column " << c
          << ": x " << src[i * inner + c] << ", y " << dst[i * inner + c] << ", float64 " << y;
    }
  }
}

void CheckBoth(const std::vector<float>& src, int64_t n, int64_t inner) {
  Check(src, n, inner, false);
  Check(src, n, inner, true);
}

TEST(SimdSoftmaxTest, MatchesFloat64) {
  ForEachIsa([] {
    for (int64_t n : {1, 2, 10, 21, 1000}) {
      for (int64_t inner : {1, 3, 16, 37}) {
        CheckBoth(Uniform(n * inner, -4, 4), n, inner);
        CheckBoth(Uniform(n * inner, -110, 3), n, inner);
        CheckBoth(Uniform(n * inner, 99, 101), n, inner);
      }
    }
    CheckBoth(std::vector<float>(100000, 0.7f), 100000, 1);
    CheckBoth(Uniform(50000, -1e4f, 1e4f), 50000, 1);
  });
}

TEST(SimdSoftmaxTest, SpecialValues) {
  ForEachIsa([] {
    for (float special : {NAN, INFINITY, -INFINITY, 3e38f, -3e38f}) {
      std::vector<float> src = Uniform(20 * 20, -2, 2);
      src[7 * 20 + 5] = special;
      CheckBoth(src, 20, 20);
      CheckBoth(src, 400, 1);
    }
    CheckBoth(std::vector<float>(40, -INFINITY), 40, 1);
    CheckBoth(std::vector<float>(40, -INFINITY), 2, 20);
  });
}

// The weights of one row times their factor.
void Scaled(int64_t n, float scale, const std::vector<float>& mask, std::vector<float>* x) {
  float factor = 0;
  ScoreRows row{x->data(), 1, n, n, scale};
  if (!mask.empty()) row.mask = mask.data(), row.mask_step = mask.size() > 1 ? 1 : 0;
  SoftmaxWeights(row, &factor);
  EXPECT_EQ(ScaleRows(x->data(), n, 1, n, &factor, x->data(), n), std::isfinite(factor));
}

void CheckScaled(const std::vector<float>& src, float scale, const std::vector<float>& mask) {
  const auto n = static_cast<int64_t>(src.size());
  std::vector<float> x = src;
  x.push_back(777.0f);
  Scaled(n, scale, mask, &x);
  ASSERT_EQ(x.back(), 777.0f);
  double max = -HUGE_VAL, sum = 0, largest = 0;
  std::vector<double> y;
  for (size_t i = 0; i < src.size(); ++i) {
    const double plus = mask.empty() ? 0 : mask[mask.size() > 1 ? i : 0], product = static_cast<double>(src[i]) * scale;
    y.push_back(product + plus);
    max = std::max(max, y.back());
    largest = std::max(largest, std::fabs(product) + (plus > -100 ? std::fabs(plus) : 0));
  }
  for (const double value : y) sum += std::exp(value - max);
  for (size_t i = 0; i < src.size(); ++i) {
    // The scores themselves are rounded, in each of two steps where there is no FMA.
    const double t = y[i] - max, p = std::exp(t) / sum;
    const double tau = p > 0 ? 12 * kU * p * std::sqrt(4 + t * t + largest * largest) : 0;
    ASSERT_LE(ErrorInTau(x[i], p, tau + 12 * kEta), 0.25) << "n " << n << " at " << i << ": " << x[i] << ' ' << p;
  }
}

TEST(SimdSoftmaxTest, ScaledMatchesFloat64) {
  ForEachIsa([] {
    for (int64_t n : {1, 2, 7, 8, 10, 33, 128, 1000, 2048}) {
      for (float spread : {0.5f, 8.0f, 300.0f}) {
        CheckScaled(Uniform(n, -spread, spread), 0.125f, {});
        CheckScaled(Uniform(n, -spread, spread), -0.3f, Uniform(n, -20, 0));
        CheckScaled(Uniform(n, -spread, spread), 1, {-3.0f});
      }
      std::vector<float> mask(static_cast<size_t>(n), 0.0f);
      for (size_t i = 1; i < mask.size(); i += 2) mask[i] = i % 4 == 1 ? -1e4f : -INFINITY;
      CheckScaled(Uniform(n, -2, 2), 0.5f, mask);
    }
    CheckScaled(std::vector<float>(100000, 0.7f), 1, {});
  });
}

TEST(SimdSoftmaxTest, ScaledIsNaNWhereItsMaximumIsNotFinite) {
  ForEachIsa([] {
    const auto expect_nan = [](std::vector<float> x) {
      Scaled(static_cast<int64_t>(x.size()), 1, {}, &x);
      for (const float p : x) EXPECT_TRUE(std::isnan(p));
    };
    for (size_t at : {size_t{3}, size_t{20}}) {  // of a whole vector, and of the rest
      for (float special : {NAN, INFINITY}) {
        std::vector<float> x = Uniform(21, -2, 2);
        x[at] = special;
        expect_nan(x);
      }
    }
    expect_nan(std::vector<float>(21, -INFINITY));
  });
}

}  // namespace
}  // namespace plumb::simd
