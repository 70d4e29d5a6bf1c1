// SPDX-License-Identifier: Apache-2.0
// A row times a matrix, as it lies and turned, against float64 on every ISA: rests of vectors and of rows, strides.
#include "simd/gemv.h"

#include <algorithm>

#include "simd/simd_test_util.h"

namespace plumb::simd {
namespace {

TEST(SimdGemvTest, MatchesFloat64) {
  ForEachIsa([] {
    for (int64_t n : {1, 3, 8, 20, 64, 129}) {
      for (int64_t rows : {1, 4, 7, 8, 9, 100}) {
        const int64_t step = n + 5;
        const std::vector<float> x = Uniform(std::max(n, rows), -1, 1), w = Uniform(rows * step, -1, 1);
        std::vector<float> dots(static_cast<size_t>(rows + 1), 777.0f), sums(static_cast<size_t>(n + 1), 777.0f);
        GemvDots(x.data(), n, w.data(), rows, step, dots.data());
        std::fill_n(sums.begin(), n, 2.0f);
        GemvAdd(x.data(), rows, w.data(), n, sums.data());
        EXPECT_EQ(dots.back(), 777.0f);
        EXPECT_EQ(sums.back(), 777.0f);
        for (int64_t r = 0; r < rows; ++r) {
          double want = 0, size = 0;
          for (int64_t i = 0; i < n; ++i) {
            const double term = static_cast<double>(x[i]) * w[r * step + i];
            want += term, size += std::fabs(term);
          }
          EXPECT_LE(std::fabs(dots[r] - want), 8 * kU * size) << n << " values, row " << r << " of " << rows;
        }
        for (int64_t i = 0; i < n; ++i) {
          double want = 2, size = 2;
          for (int64_t r = 0; r < rows; ++r) {
            const double term = static_cast<double>(x[r]) * w[r * n + i];
            want += term, size += std::fabs(term);
          }
          EXPECT_LE(std::fabs(sums[i] - want), 8 * kU * size) << n << " columns, column " << i << ", rows " << rows;
        }
      }
    }
  });
}

// Several vectors give what each of them gives alone, up to rounding; nothing beside the results is touched.
TEST(SimdGemvTest, SomeVectorsAreEachOfThem) {
  ForEachIsa([] {
    for (int64_t count : {1, 2, 3, 4, 5, 7, 11}) {
      for (int64_t n : {1, 16, 33, 64, 80, 129}) {
        for (int64_t rows : {1, 3, 4, 10}) {
          const int64_t step = n + 3, x_step = std::max(n, rows) + 2, y_step = std::max(n, rows) + 1;
          const std::vector<float> x = Uniform(count * x_step, -1, 1), w = Uniform(rows * step, -1, 1);
          std::vector<float> dots(static_cast<size_t>(count * y_step), 777.0f), sums(dots.size(), 777.0f);
          std::vector<float> each(static_cast<size_t>(y_step));
          for (int64_t q = 0; q < count; ++q) std::fill_n(sums.begin() + q * y_step, n, 2.0f);
          GemvDots({x.data(), dots.data(), count, x_step, y_step}, n, w.data(), rows, step);
          GemvAdd({x.data(), sums.data(), count, x_step, y_step}, rows, w.data(), n);
          for (int64_t q = 0; q < count; ++q) {
            SCOPED_TRACE(testing::Message() << "vector " << q << " of " << count << ", n " << n << ", rows " << rows);
            GemvDots(x.data() + q * x_step, n, w.data(), rows, step, each.data());
            for (int64_t r = 0; r < rows; ++r) EXPECT_NEAR(dots[q * y_step + r], each[r], 16 * kU * n) << "row " << r;
            EXPECT_EQ(dots[q * y_step + rows], 777.0f);
            std::fill_n(each.begin(), n, 2.0f);
            GemvAdd(x.data() + q * x_step, rows, w.data(), n, each.data());
            for (int64_t i = 0; i < n; ++i) EXPECT_NEAR(sums[q * y_step + i], each[i], 16 * kU * (rows + 2)) << i;
            EXPECT_EQ(sums[q * y_step + n], 777.0f);
          }
        }
      }
    }
  });
}

}  // namespace
}  // namespace plumb::simd
