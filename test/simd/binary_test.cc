// SPDX-License-Identifier: Apache-2.0
// Binary operators: accuracy and special values against float64 on every ISA, broadcasting against plain index
// arithmetic, any split of the range.
#include "simd/binary.h"

#include <algorithm>

#include "simd/simd_test_util.h"

namespace plumb::simd {
namespace {

struct Case {
  BinaryOp op;
  double factor;  // tau = factor * u * |y|
  double (*reference)(double a, double b);
};

double Maximum(double a, double b) { return std::isnan(a) || std::isnan(b) ? NAN : std::max(a, b); }
double Minimum(double a, double b) { return std::isnan(a) || std::isnan(b) ? NAN : std::min(a, b); }

const Case kCases[] = {
    {BinaryOp::kAdd, 8, [](double a, double b) { return a + b; }},
    {BinaryOp::kSub, 8, [](double a, double b) { return a - b; }},
    {BinaryOp::kMul, 8, [](double a, double b) { return a * b; }},
    {BinaryOp::kDiv, 12, [](double a, double b) { return a / b; }},
    {BinaryOp::kMaximum, 0, Maximum},
    {BinaryOp::kMinimum, 0, Minimum},
    {BinaryOp::kPlumbPow, 8, [](double a, double b) { return std::pow(a, b); }},
    {BinaryOp::kSquaredDifference, 12, [](double a, double b) { return (a - b) * (a - b); }},
};

void ExpectClose(const Case& c, float a, float b, float y) {
  const double reference = c.reference(a, b);
  const double tau = c.factor == 0 ? 0 : c.factor * kU * std::fabs(reference) + 4 * kEta;
  ASSERT_LE(ErrorInTau(y, reference, tau), 0.25)
      << BinaryName(c.op) << "(" << a << ", " << b << ") = " << y << ", float64 " << reference;
}

TEST(SimdBinaryTest, EveryRowHasACase) { EXPECT_EQ(std::size(kCases), static_cast<size_t>(BinaryOp::kNumOps)); }

TEST(SimdBinaryTest, RowsAreWithinAQuarterOfTau) {
  std::vector<float> a, b;
  for (float x : Specials()) {
    for (float y : Specials()) a.push_back(x), b.push_back(y);
  }
  const auto append = [](std::vector<float>* to, const std::vector<float>& from) {
    to->insert(to->end(), from.begin(), from.end());
  };
  append(&a, RandomBits(20001, 3)), append(&b, RandomBits(20001, 4));
  append(&a, Uniform(20001, 0, 10, 3)), append(&b, Uniform(20001, -12, 12, 4));
  ForEachIsa([&] {
    std::vector<float> y(a.size());
    for (const Case& c : kCases) {
      BinaryRow(c.op, a.data(), 1, b.data(), 1, y.data(), y.size());
      for (size_t i = 0; i < y.size(); ++i) ExpectClose(c, a[i], b[i], y[i]);
    }
  });
}

TEST(SimdBinaryTest, ScalarOnEitherSide) {
  const std::vector<float> values = Uniform(37, 0.1f, 5);
  ForEachIsa([&] {
    for (const Case& c : kCases) {
      for (float scalar : {0.0f, 0.5f, 2.0f, -3.0f, 2.7f}) {
        std::vector<float> y(values.size());
        BinaryRow(c.op, values.data(), 1, &scalar, 0, y.data(), y.size());
        for (size_t i = 0; i < y.size(); ++i) ExpectClose(c, values[i], scalar, y[i]);
        BinaryRow(c.op, &scalar, 0, values.data(), 1, y.data(), y.size());
        for (size_t i = 0; i < y.size(); ++i) ExpectClose(c, scalar, values[i], y[i]);
      }
    }
  });
}

using Dims = std::vector<int64_t>;

int64_t Product(const Dims& dims) {
  int64_t product = 1;
  for (int64_t dim : dims) product *= dim;
  return product;
}

// Offset into a tensor of shape `dims` of the result's element `index`, by the definition of broadcasting.
int64_t Offset(const Dims& dims, const Dims& result, int64_t index) {
  int64_t offset = 0, stride = 1;
  for (size_t i = 0; i < result.size(); ++i) {
    const int64_t extent = result[result.size() - 1 - i];
    const int64_t own = i < dims.size() ? dims[dims.size() - 1 - i] : 1;
    if (own != 1) offset += index % extent * stride;
    stride *= own;
    index /= extent;
  }
  return offset;
}

Dims ResultDims(const Dims& a, const Dims& b) {
  Dims result(std::max(a.size(), b.size()));
  for (size_t i = 0; i < result.size(); ++i) {
    const int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1;
    const int64_t y = i < b.size() ? b[b.size() - 1 - i] : 1;
    result[result.size() - 1 - i] = x == 1 ? y : x;
  }
  return result;
}

const std::pair<Dims, Dims> kShapes[] = {
    {{2, 3, 4, 5}, {2, 3, 4, 5}},
    {{2, 3, 4, 5}, {3, 1, 1}},
    {{1, 3, 1, 1}, {2, 3, 4, 5}},
    {{2, 1, 4, 1}, {1, 3, 1, 5}},
    {{7}, {1}},
    {{}, {3, 2}},
    {{1}, {1, 1}},
    {{2, 3, 1, 5, 1, 7}, {4, 1, 6, 7}},
    {{3, 1, 2}, {3, 4, 2}},
    {{2, 17}, {17}},
    {{2, 0, 3}, {1, 3}},
    {{5, 1}, {1, 5}},
    {{3, 100, 8}, {3, 1, 8}},  // a short row again and again: pieces of 256 values, 252 of rows of 7
    {{2, 1, 7}, {2, 90, 7}},
    {{40, 64}, {64}},
    {{65}, {40, 65}},
};

TEST(SimdBinaryTest, BroadcastsLikeIndexArithmetic) {
  for (const auto& [a_dims, b_dims] : kShapes) {
    const Dims result = ResultDims(a_dims, b_dims);
    const BroadcastPlan plan = PlanBroadcast(a_dims.data(), a_dims.size(), b_dims.data(), b_dims.size());
    const int64_t size = Product(result);
    ASSERT_EQ(plan.size(), size);
    const std::vector<float> a = Uniform(Product(a_dims) + 1, -5, 5, 5), b = Uniform(Product(b_dims) + 1, -5, 5, 6);
    for (int64_t split : {int64_t{0}, size / 3, size / 2 + 1, size}) {
      if (split > size) continue;
      std::vector<float> y(size + 1, 777.0f);
      Binary(BinaryOp::kSub, plan, a.data(), b.data(), y.data(), 0, split);
      Binary(BinaryOp::kSub, plan, a.data(), b.data(), y.data(), split, size);
      for (int64_t i = 0; i < size; ++i) {
        ASSERT_EQ(y[i], a[Offset(a_dims, result, i)] - b[Offset(b_dims, result, i)]) << "element " << i;
      }
      ASSERT_EQ(y[size], 777.0f);
    }
  }
}

TEST(SimdBinaryTest, BroadcastMergesDimensions) {
  const int64_t image[] = {2, 8, 6, 5}, channel[] = {8, 1, 1};
  const BroadcastPlan plan = PlanBroadcast(image, 4, channel, 3);
  EXPECT_EQ(plan.row, 30);
  EXPECT_EQ(plan.rows, 16);
  EXPECT_EQ(PlanBroadcast(image, 4, image, 4).rank, 0);
}

}  // namespace
}  // namespace plumb::simd
