// SPDX-License-Identifier: Apache-2.0
// Statistics of blobs against plain loops in long double, and their special values.
#include "dump/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "dump/checksum.h"

namespace plumb {
namespace {

template <class T>
Tensor Make(const std::vector<T>& values) {
  Tensor tensor = Tensor::Create(DTypeOf<T>::value, {static_cast<int64_t>(values.size())}).value();
  std::copy(values.begin(), values.end(), tensor.data<T>());
  return tensor;
}

TEST(Statistics, OfFloatsMatchPlainLoops) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal(1000.0f, 0.25f);  // a large mean must cost no digits of std
  for (size_t count : {1u, 3u, 31u, 2047u, 2048u, 2049u, 100003u}) {
    std::vector<float> values(count);
    for (float& value : values) value = normal(random);
    long double sum = 0;
    for (float value : values) sum += value;
    const long double mean = sum / static_cast<long double>(count);
    long double squares = 0;
    for (float value : values) squares += (value - mean) * (value - mean);
    const Statistics s = ComputeStatistics(Make(values));
    EXPECT_EQ(s.count, static_cast<int64_t>(count));
    EXPECT_EQ(s.min, *std::min_element(values.begin(), values.end()));
    EXPECT_EQ(s.max, *std::max_element(values.begin(), values.end()));
    EXPECT_NEAR(s.sum, static_cast<double>(sum), 1e-9 * static_cast<double>(sum));
    EXPECT_NEAR(s.mean, static_cast<double>(mean), 1e-9);
    EXPECT_NEAR(s.std, static_cast<double>(std::sqrt(squares / static_cast<long double>(count))), 1e-9);
  }
}

TEST(Statistics, CountsWhatIsSpecial) {
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> values(5000, 2.0f);
  values[7] = nan;
  values[8] = inf;
  values[9] = -inf;
  values[4097] = -0.0f;
  values[4098] = 0.0f;
  values[4999] = 1e-40f;
  const Statistics s = ComputeStatistics(Make(values));
  EXPECT_EQ(s.nans, 1);
  EXPECT_EQ(s.infinities, 2);
  EXPECT_EQ(s.zeros, 2);
  EXPECT_EQ(s.subnormals, 1);
  EXPECT_EQ(s.finite, 4997);
  EXPECT_EQ(s.min, 0);
  EXPECT_EQ(s.max, 2);
  EXPECT_EQ(s.distinct, 6);  // 2, nan, inf, -inf, 0, 1e-40
  EXPECT_NEAR(s.sum, 2.0 * 4994, 1e-9);
}

TEST(Statistics, OfNothing) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(ComputeStatistics(Make<float>({})).count, 0);
  const Statistics s = ComputeStatistics(Make<float>({nan, nan}));
  EXPECT_EQ(s.finite, 0);
  EXPECT_EQ(s.nans, 2);
  EXPECT_EQ(s.distinct, 1);
}

TEST(Statistics, DistinctUpTo256) {
  std::vector<float> values;
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 256; ++i) values.push_back(static_cast<float>(i) * 0.37f);
  }
  EXPECT_EQ(ComputeStatistics(Make(values)).distinct, 256);
  values.push_back(-1);
  EXPECT_EQ(ComputeStatistics(Make(values)).distinct, -1);
}

TEST(Statistics, IntegersAreExact) {
  const int64_t low = std::numeric_limits<int64_t>::min();
  const int64_t high = std::numeric_limits<int64_t>::max();
  const Statistics s = ComputeStatistics(Make<int64_t>({low, high, 0, 5}));
  EXPECT_TRUE(s.integer);
  EXPECT_EQ(s.min_integer, low);
  EXPECT_EQ(s.max_integer, high);
  EXPECT_EQ(s.zeros, 1);
  EXPECT_EQ(s.distinct, 4);
  const Statistics small = ComputeStatistics(Make<int8_t>({-128, 127, 1, 0}));
  EXPECT_EQ(small.min_integer, -128);
  EXPECT_EQ(small.max_integer, 127);
  EXPECT_EQ(small.mean, 0);
}

TEST(Statistics, SubnormalsOfHalves) {
  Tensor tensor = Tensor::Create(DType::kF16, {4}).value();
  const uint16_t bits[] = {0x0001, 0x8000, 0x3C00, 0xFC00};  // 2^-24, -0, 1, -inf
  std::copy(bits, bits + 4, tensor.data<uint16_t>());
  const Statistics s = ComputeStatistics(tensor);
  EXPECT_EQ(s.subnormals, 1);
  EXPECT_EQ(s.zeros, 1);
  EXPECT_EQ(s.infinities, 1);
  EXPECT_EQ(s.max, 1);
}

TEST(Checksum, IsXxh64) {
  // The published values of XXH64 with seed 0.
  EXPECT_EQ(ChecksumOf("", 0), "ef46db3751d8e999");
  EXPECT_EQ(ChecksumOf("a", 1), "d24ec4f1a98c6e5b");
  Checksum pieces;
  pieces.Add("ab", 2);
  pieces.Add("c", 1);
  EXPECT_EQ(pieces.Text(), ChecksumOf("abc", 3));
  EXPECT_EQ(pieces.Text(), "44bc2cf5ad770999");
}

}  // namespace
}  // namespace plumb
