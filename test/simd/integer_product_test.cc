// SPDX-License-Identifier: Apache-2.0
// Products of integers beside sums in 64 bits, on every instruction set: random numbers and the extremes at which
// products of neighbours overflow 16 bits (255 x -128, 255 x 127) and 32 bits (rows of 70,000).
#include "simd/integer_product.h"

#include <algorithm>
#include <numeric>

#include "simd/simd_test_util.h"

namespace plumb::simd {
namespace {

struct Product {
  int64_t rows, k, n;
  std::vector<int64_t> a, b;
};

// Numbers from [low, high], both ends among them.
std::vector<int64_t> WholeNumbers(int64_t count, int64_t low, int64_t high, unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_int_distribution<int64_t> any(low, high);
  std::vector<int64_t> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) values[i] = i % 5 == 0 ? low : i % 7 == 0 ? high : any(generator);
  return values;
}

std::vector<int16_t> Shorts(const std::vector<int64_t>& from) { return {from.begin(), from.end()}; }

int32_t Expected(const Product& p, int64_t row, int64_t column) {
  uint64_t sum = 0;
  for (int64_t k = 0; k < p.k; ++k) {
    sum += static_cast<uint64_t>(p.a[static_cast<size_t>(row * p.k + k)] * p.b[static_cast<size_t>(k * p.n + column)]);
  }
  return static_cast<int32_t>(static_cast<uint32_t>(sum));
}

void ExpectExact(const Product& p) {
  const int64_t pairs = PairsOf(p.k), values = NumPanels(p.n) * PanelValues(p.k);
  std::vector<int16_t> a(static_cast<size_t>(p.rows * pairs * 2), 0), wide(static_cast<size_t>(values), 99);
  for (int64_t r = 0; r < p.rows; ++r) std::copy_n(p.a.begin() + r * p.k, p.k, a.begin() + r * pairs * 2);
  PackPanels(Shorts(p.b).data(), p.k, p.n, 0, pairs / 2, wide.data());
  PackPanels(Shorts(p.b).data(), p.k, p.n, pairs / 2, pairs, wide.data());
  std::vector<int8_t> narrow(wide.size());
  std::vector<int32_t> shifts(static_cast<size_t>(NumPanels(p.n) * kPanelColumns)), row_sums;
  const bool fits = NarrowPanels(wide.data(), p.k, p.n, narrow.data(), shifts.data());
  for (int64_t r = 0; r < p.rows; ++r)
    row_sums.push_back(std::accumulate(a.begin() + r * pairs * 2, a.begin() + (r + 1) * pairs * 2, 0));
  std::vector<int16_t> scratch(static_cast<size_t>(PanelValues(p.k)));
  std::vector<float> scale = Uniform(static_cast<size_t>(p.n), -2, 2), shift = Uniform(scale.size(), -9, 9);
  for (const bool use_narrow : {false, true}) {
    if (use_narrow && !fits) continue;
    IntegerFactors f{a.data(), pairs * 2, p.rows, pairs, wide.data()};
    f.narrow = narrow.data(), f.shifts = shifts.data(), f.row_sums = row_sums.data(), f.n = p.n;
    if (!use_narrow) f.shifts = nullptr;
    if (use_narrow) f.wide = nullptr;
    std::vector<int32_t> y(static_cast<size_t>(p.rows * p.n), -1);
    std::vector<float> real(y.size(), NAN);
    MultiplyIntegers(f, 0, NumPanels(p.n), scratch.data(), y.data());
    MultiplyIntegers(f, 0, NumPanels(p.n), scratch.data(), {{scale.data(), 1}, {shift.data(), 1}}, real.data());
    for (int64_t i = 0; i < p.rows * p.n; ++i) {
      const auto at = static_cast<size_t>(i), column = static_cast<size_t>(i % p.n);
      ASSERT_EQ(y[at], Expected(p, i / p.n, i % p.n)) << "row " << i / p.n << " column " << column;
      const float scaled = static_cast<float>(y[at]) * scale[column];
      ASSERT_EQ(real[at], scaled + shift[column]) << "row " << i / p.n << " column " << column;
    }
  }
}

TEST(SimdIntegerProductTest, ExactForEightBits) {
  ForEachIsa([] {
    for (const int64_t rows : {1, 2, 5, 12, 29}) {
      for (const int64_t k : {1, 2, 7, 64}) {
        for (const int64_t n : {1, 15, 16, 37}) {
          ExpectExact({rows, k, n, WholeNumbers(rows * k, 0, 255, 1), WholeNumbers(k * n, -128, 127, 2)});
          ExpectExact({rows, k, n, WholeNumbers(rows * k, -255, 255, 5), WholeNumbers(k * n, -200, 55, 6)});
          ExpectExact({rows, k, n, WholeNumbers(rows * k, -255, 255, 3), WholeNumbers(k * n, -255, 255, 4)});
        }
      }
    }
  });
}

TEST(SimdIntegerProductTest, ExactForRowsThatOverflow) {
  ForEachIsa([] {
    for (const int64_t b : {-128, 127}) {
      const int64_t k = 70001, n = 17, rows = 3;
      ExpectExact({rows, k, n, std::vector<int64_t>(rows * k, 255), std::vector<int64_t>(k * n, b)});
    }
    const int64_t k = 1001, n = 16, rows = 13;
    ExpectExact({rows, k, n, std::vector<int64_t>(rows * k, -32768), std::vector<int64_t>(k * n, -32768)});
  });
}

TEST(SimdIntegerProductTest, LessZeroSaysWhatDoesNotFit) {
  ForEachIsa([] {
    for (const size_t n : {1, 3, 4, 8, 21}) {
      std::vector<int64_t> src(n, 200);
      std::vector<int16_t> dst(n);
      EXPECT_TRUE(LessZero(src.data(), 210, dst.data(), n));
      EXPECT_EQ(dst, std::vector<int16_t>(n, -10));
      for (size_t i = 0; i < n; ++i) {
        for (const int64_t value : {int64_t{32778}, int64_t{-32759}, INT64_MIN, INT64_MAX, int64_t{1} << 40}) {
          src[i] = value;
          EXPECT_FALSE(LessZero(src.data(), 10, dst.data(), n)) << value;
        }
        src[i] = 32777;
        EXPECT_TRUE(LessZero(src.data(), 10, dst.data(), n));
        src[i] = -32758;
        EXPECT_TRUE(LessZero(src.data(), 10, dst.data(), n));
        EXPECT_EQ(dst[i], -32768);
        src[i] = 200;
      }
    }
  });
}

}  // namespace
}  // namespace plumb::simd
