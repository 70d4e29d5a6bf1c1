// SPDX-License-Identifier: Apache-2.0
// Products of bytes beside sums in 64 bits, on every instruction set that has them: random numbers and the extremes at
// which four products overflow 16 bits (255 x -128, 255 x 127) and rows of 70,000 overflow 32.
#include "simd/byte_product.h"

#include <numeric>

#include "simd/simd_test_util.h"

namespace plumb::simd {
namespace {

struct Product {
  int64_t rows, k, n;
  std::vector<int64_t> a, b;
};

// Numbers from [low, high], both ends among them.
std::vector<int64_t> Numbers(int64_t count, int64_t low, int64_t high) {
  std::mt19937 generator(static_cast<unsigned>(count + high));
  std::uniform_int_distribution<int64_t> any(low, high);
  std::vector<int64_t> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) values[i] = i % 5 == 0 ? low : i % 7 == 0 ? high : any(generator);
  return values;
}

std::vector<int32_t> RowSums(const Product& p) {
  std::vector<int32_t> sums;
  for (int64_t r = 0; r < p.rows; ++r) {
    const auto first = p.a.begin() + r * p.k;
    sums.push_back(static_cast<int32_t>(std::accumulate(first, first + p.k, int64_t{0})));
  }
  return sums;
}

// Rows of bytes, padded to quads.
std::vector<uint8_t> Rows(const Product& p, int64_t offset) {
  const int64_t stride = QuadsOf(p.k) * 4;
  std::vector<uint8_t> rows(static_cast<size_t>(p.rows * stride), 0);
  for (int64_t r = 0; r < p.rows; ++r)
    EXPECT_TRUE(ToBytes(p.a.data() + r * p.k, offset, rows.data() + r * stride, static_cast<size_t>(p.k)));
  return rows;
}

void ExpectExact(const Product& p, ByteFactors f) {
  const int64_t panels = NumPanels(p.n);
  f.a_stride = QuadsOf(p.k) * 4, f.rows = p.rows, f.quads = QuadsOf(p.k), f.n = p.n;
  const std::vector<float> scale = Uniform(static_cast<size_t>(p.n), -2, 2), shift = Uniform(scale.size(), -9, 9);
  std::vector<int32_t> y(static_cast<size_t>(p.rows * p.n), -1);
  std::vector<float> real(y.size(), NAN);
  MultiplyBytes(f, 0, panels / 2, y.data());
  MultiplyBytes(f, panels / 2, panels, y.data());
  MultiplyBytes(f, 0, panels, {{scale.data(), 1}, {shift.data(), 1}}, real.data());
  for (int64_t i = 0; i < p.rows * p.n; ++i) {
    const int64_t row = i / p.n, column = i % p.n;
    uint64_t sum = 0;
    for (int64_t k = 0; k < p.k; ++k)
      sum +=
          static_cast<uint64_t>(p.a[static_cast<size_t>(row * p.k + k)] * p.b[static_cast<size_t>(k * p.n + column)]);
    const auto expected = static_cast<int32_t>(static_cast<uint32_t>(sum));
    const auto at = static_cast<size_t>(column);
    ASSERT_EQ(y[static_cast<size_t>(i)], expected) << "row " << row << " column " << column;
    const float scaled = static_cast<float>(expected) * scale[at];
    ASSERT_EQ(real[static_cast<size_t>(i)], scaled + shift[at]) << "row " << row << " column " << column;
  }
}

// a: u8 plus `low`, beside quads of i8.
void ExpectExactBesideI8(const Product& p, int32_t low) {
  SCOPED_TRACE(low);
  const int64_t panels = NumPanels(p.n);
  const std::vector<uint8_t> a = Rows(p, -low);
  std::vector<int16_t> b(p.b.begin(), p.b.end()), wide(static_cast<size_t>(panels * PanelValues(p.k)));
  std::vector<int8_t> narrow(wide.size()), quads(static_cast<size_t>(panels * QuadPanelValues(p.k)), 99);
  std::vector<int32_t> shifts(static_cast<size_t>(panels * kPanelColumns)), column_sums(shifts.size());
  PackPanels(b.data(), p.k, p.n, 0, PairsOf(p.k), wide.data());
  ASSERT_TRUE(NarrowPanels(wide.data(), p.k, p.n, narrow.data(), shifts.data()));
  QuadPanels(narrow.data(), p.k, p.n, quads.data(), column_sums.data());
  const std::vector<int32_t> lows(static_cast<size_t>(p.rows), low), row_sums = RowSums(p);
  ByteFactors f;
  f.a = a.data(), f.panels = quads.data(), f.lows = lows.data(), f.column_sums = column_sums.data();
  f.shifts = shifts.data(), f.row_sums = row_sums.data();
  ExpectExact(p, f);
}

// a: i8 plus `low`, beside quads of u8 plus `shift`.
void ExpectExactBesideU8(const Product& p, int32_t shift, int32_t low = 0) {
  SCOPED_TRACE(shift);
  const int64_t panels = NumPanels(p.n);
  std::vector<uint8_t> a = Rows(p, 128 - low), b(p.b.size()),
                       quads(static_cast<size_t>(panels * QuadPanelValues(p.k)), 99);
  for (uint8_t& value : a) value ^= 0x80;
  ASSERT_TRUE(ToBytes(p.b.data(), -shift, b.data(), b.size()));
  const std::vector<int32_t> shifts(static_cast<size_t>(panels * kPanelColumns), shift), row_sums = RowSums(p);
  const std::vector<int32_t> lows(static_cast<size_t>(p.rows), low);
  std::vector<int32_t> column_sums(shifts.size(), -1);
  PackQuads(b.data(), p.k, p.n, 0, panels / 2, quads.data(), column_sums.data());
  PackQuads(b.data(), p.k, p.n, panels / 2, panels, quads.data(), column_sums.data());
  ByteFactors f;
  f.a = a.data(), f.panels = quads.data(), f.panels_are_u8 = true;
  if (low != 0) f.lows = lows.data(), f.column_sums = column_sums.data();
  f.shifts = shifts.data(), f.row_sums = row_sums.data();
  ExpectExact(p, f);
}

TEST(SimdByteProductTest, Exact) {
  bool any = false;
  ForEachIsa([&] {
    if (!MultipliesBytes()) return;
    any = true;
    for (const int64_t rows : {1, 2, 5, 6, 7, 12, 13, 29}) {
      for (const int64_t k : {1, 2, 3, 4, 7, 64, 129}) {
        for (const int64_t n : {1, 15, 16, 37, 150}) {
          ExpectExactBesideI8({rows, k, n, Numbers(rows * k, 0, 255), Numbers(k * n, -128, 127)}, 0);
          ExpectExactBesideI8({rows, k, n, Numbers(rows * k, -128, 127), Numbers(k * n, -200, 55)}, -128);
          ExpectExactBesideI8({rows, k, n, Numbers(rows * k, -200, 55), Numbers(k * n, -255, 0)}, -200);
          ExpectExactBesideU8({rows, k, n, Numbers(rows * k, -128, 127), Numbers(k * n, 0, 255)}, 0);
          ExpectExactBesideU8({rows, k, n, Numbers(rows * k, -128, 127), Numbers(k * n, -99, 156)}, -99);
          ExpectExactBesideU8({rows, k, n, Numbers(rows * k, -134, 121), Numbers(k * n, -99, 156)}, -99, -6);
        }
      }
    }
    for (const int64_t end : {-128, 127}) {
      const int64_t k = 70001, n = 17, rows = 3;
      const std::vector<int64_t> high(static_cast<size_t>(rows * k), 255), low(static_cast<size_t>(rows * k), end);
      ExpectExactBesideI8({rows, k, n, high, std::vector<int64_t>(static_cast<size_t>(k * n), end)}, 0);
      ExpectExactBesideU8({rows, k, n, low, std::vector<int64_t>(static_cast<size_t>(k * n), 255)}, 0);
    }
  });
  if (!any) GTEST_SKIP() << "this CPU has no VNNI";
}

TEST(SimdByteProductTest, ToBytesSaysWhatDoesNotFit) {
  ForEachIsa([] {
    for (const size_t n : {1, 3, 8, 21}) {
      std::vector<int64_t> src(n, 100);
      std::vector<uint8_t> dst(n);
      for (size_t i = 0; i < n; ++i) {
        for (const int64_t value : {int64_t{128}, int64_t{-129}, INT64_MIN, INT64_MAX, int64_t{1} << 40}) {
          src[i] = value;
          EXPECT_FALSE(ToBytes(src.data(), 128, dst.data(), n)) << value;
        }
        for (const int64_t value : {127, -128}) {
          src[i] = value;
          EXPECT_TRUE(ToBytes(src.data(), 128, dst.data(), n));
          EXPECT_EQ(dst[i], value + 128);
        }
        src[i] = 100;
      }
    }
  });
}

TEST(SimdByteProductTest, LeastOf) {
  ForEachIsa([] {
    for (const size_t n : {0, 1, 7, 16, 21}) {
      std::vector<int64_t> src(n, 5);
      EXPECT_EQ(LeastOf(src.data(), n), n == 0 ? INT64_MAX : 5);
      for (size_t i = 0; i < n; ++i) {
        src[i] = -(int64_t{1} << 40);
        EXPECT_EQ(LeastOf(src.data(), n), src[i]);
        src[i] = 5;
      }
    }
  });
}

}  // namespace
}  // namespace plumb::simd
