// SPDX-License-Identifier: Apache-2.0
// Reductions against float64 on every ISA: rows and columns, any split, constants (where serial float sums drift), huge
// values whose partial sums overflow float, NaN and infinity; arg max / min with ties, first and last.
#include "simd/reduce.h"

#include <algorithm>

#include "simd/simd_test_util.h"

namespace plumb::simd {
namespace {

double Reference(ReduceOp op, const std::vector<double>& x) {
  double sum = 0, sum1 = 0, sum2 = 0, prod = 1, max = -HUGE_VAL, min = HUGE_VAL;
  bool nan = false;
  for (double v : x) {
    sum += v, sum1 += std::fabs(v), sum2 += v * v, prod *= v;
    max = std::max(max, v), min = std::min(min, v);
    nan = nan || std::isnan(v);
  }
  double exps = 0;
  for (double v : x) exps += std::exp(v - max);
  switch (op) {
    case ReduceOp::kReduceSum: return sum;
    case ReduceOp::kReduceMean: return sum / static_cast<double>(x.size());
    case ReduceOp::kReduceL1: return sum1;
    case ReduceOp::kReduceL2: return std::sqrt(sum2);
    case ReduceOp::kReduceSumSquare: return sum2;
    case ReduceOp::kReduceLogSum: return std::log(sum);
    case ReduceOp::kReduceProd: return prod;
    case ReduceOp::kReduceMax: return nan ? NAN : max;
    case ReduceOp::kReduceMin: return nan ? NAN : min;
    default: return nan ? NAN : (std::isinf(max) ? max : max + std::log(exps));
  }
}

void Check(const std::vector<float>& src, int64_t n, int64_t inner, int64_t begin, int64_t end) {
  for (int k = 0; k < static_cast<int>(ReduceOp::kNumOps); ++k) {
    const ReduceOp op = static_cast<ReduceOp>(k);
    std::vector<float> dst(end - begin + 1, 777.0f);
    Reduce(op, src.data(), n, inner, begin, end, dst.data());
    ASSERT_EQ(dst.back(), 777.0f);
    for (int64_t c = begin; c < end; ++c) {
      std::vector<double> x(n);
      double magnitude = 0;
      for (int64_t i = 0; i < n; ++i) x[i] = src[i * inner + c], magnitude = std::max(magnitude, std::fabs(x[i]));
      const double y = Reference(op, x);
      // float64 sums leave one rounding; LogSumExp also has the exponentials' and x - m
      double tau = op == ReduceOp::kReduceMax || op == ReduceOp::kReduceMin ? 0 : 8 * kU * std::fabs(y) + 4 * kEta;
      if (op == ReduceOp::kReduceLogSumExp) tau = 12 * kU * (1 + magnitude + std::fabs(y));
      if (op == ReduceOp::kReduceLogSum) tau += 12 * kU;
      ASSERT_LE(ErrorInTau(dst[c - begin], y, tau), 0.25)
          << ReduceName(op) << " n " << n << " inner " << inner << " column " << c << ": " << dst[c - begin]
          << ", float64 " << y;
    }
  }
}

TEST(SimdReduceTest, MatchesFloat64) {
  ForEachIsa([] {
    for (int64_t n : {1, 2, 5, 31, 64, 200}) {
      for (int64_t inner : {1, 3, 16, 37}) {
        const std::vector<float> src = Uniform(n * inner, 0.9f, 1.2f);
        Check(src, n, inner, 0, inner);
        if (inner > 3) Check(src, n, inner, 2, inner - 1);
        Check(Uniform(n * inner, -3, 3), n, inner, 0, inner);
        Check(Uniform(n * inner, -110, -3), n, inner, 0, inner);
      }
    }
    Check(std::vector<float>(100000, 0.7f), 100000, 1, 0, 1);
    Check(std::vector<float>(40000, 0.7f), 1000, 40, 0, 40);
  });
}

TEST(SimdReduceTest, SpecialValues) {
  ForEachIsa([] {
    for (float special : {NAN, INFINITY, -INFINITY, 3e38f, -3e38f, 1e-45f}) {
      for (int64_t at : {0, 7, 39}) {
        std::vector<float> src = Uniform(40 * 20, -2, 2);
        src[at * 20 + 5] = special;
        if (std::isfinite(special)) src[17 * 20 + 5] = special;  // two huge ones overflow a float partial sum
        Check(src, 40, 20, 0, 20);
        Check(src, 800, 1, 0, 1);
      }
    }
    Check(std::vector<float>(64, -INFINITY), 4, 16, 0, 16);
    Check(std::vector<float>(64, 0.0f), 4, 16, 0, 16);
  });
}

void CheckArg(const std::vector<float>& src, int64_t n, int64_t inner) {
  for (bool max : {true, false}) {
    for (bool last : {true, false}) {
      std::vector<int32_t> places(inner);
      std::vector<int64_t> wide(inner);
      ArgReduce(max, last, src.data(), n, inner, 0, inner / 2, places.data());
      ArgReduce(max, last, src.data(), n, inner, inner / 2, inner, places.data() + inner / 2);
      ArgReduce(max, last, src.data(), n, inner, 0, inner, wide.data());
      for (int64_t c = 0; c < inner; ++c) {
        int64_t place = 0;
        for (int64_t i = 1; i < n; ++i) {
          const float best = src[place * inner + c], x = src[i * inner + c];
          const bool better = std::isnan(x) ? !std::isnan(best) : (max ? x > best : x < best);
          const bool equal = std::isnan(x) ? std::isnan(best) : x == best;
          if (better || (last && equal)) place = i;
        }
        ASSERT_EQ(places[c], place) << (max ? "max " : "min ") << last << " n " << n << " inner " << inner;
        ASSERT_EQ(wide[c], place);
      }
    }
  }
}

TEST(SimdReduceTest, ArgMaxAndArgMin) {
  ForEachIsa([] {
    for (int64_t n : {1, 3, 16, 77}) {
      for (int64_t inner : {1, 5, 40}) {
        CheckArg(Uniform(n * inner, -5, 5), n, inner);
        std::vector<float> ties = Uniform(n * inner, -3, 3);
        for (float& x : ties) x = std::round(x);
        CheckArg(ties, n, inner);
        for (size_t i = 0; i < ties.size(); i += 9) ties[i] = NAN;
        CheckArg(ties, n, inner);
        CheckArg(std::vector<float>(n * inner, -INFINITY), n, inner);
      }
    }
  });
}

}  // namespace
}  // namespace plumb::simd
