// Softmax and log-softmax against float64 on every ISA, with the tolerance of the first-order error analysis: rows,
// columns, splits, in place, large spreads, constants, NaN and infinities.
#include "simd/softmax.h"

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

}  // namespace
}  // namespace plumb::simd
