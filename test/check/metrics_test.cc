// SPDX-License-Identifier: Apache-2.0
#include "check/core/metrics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "base/cpu.h"
#include "base/threads.h"

namespace plumb {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

// Two tensors that differ a little, with zeros, subnormals and a wide range of magnitudes.
struct Pair {
  Tensor a, b;
};
Pair MakePair(DType a_type, DType b_type, int64_t count, uint32_t seed = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  Tensor b = Tensor::Create(DType::kF64, {count}).value();
  Tensor a = Tensor::Create(DType::kF64, {count}).value();
  for (int64_t i = 0; i < count; ++i) {
    const double scale = random() % 500 == 0 ? 1e-41 : std::pow(10, normal(random));
    b.data<double>()[i] = random() % 3 == 0 ? 0 : normal(random) * scale;
    a.data<double>()[i] = b.data<double>()[i] * (1 + 1e-6 * normal(random)) + (random() % 50 == 0 ? 1e-7 : 0);
  }
  return {a.ConvertedTo(a_type).value(), b.ConvertedTo(b_type).value()};
}

// The definitions of plumb/check.h, one element after the other.
DiffMetrics Expected(const Tensor& a, const Tensor& b) {
  DiffMetrics m;
  double dot = 0, aa = 0, bb = 0, dd = 0;
  for (int64_t i = 0; i < a.NumElements(); ++i) {
    const double x = a.ValueAt(i), y = b.ValueAt(i), d = std::fabs(x - y);
    dot += x * y, aa += x * x, bb += y * y, dd += d * d;
    if (d > m.max_abs) m.max_abs = d, m.worst = i, m.worst_a = x, m.worst_b = y;
    if (y != 0) m.max_rel = std::max(m.max_rel, d / std::fabs(y));
    const float f = std::max(static_cast<float>(std::fabs(y)), 0x1p-126f);
    m.max_ulp = std::max(
        m.max_ulp,
        d / (static_cast<double>(std::nextafter(f, std::numeric_limits<float>::infinity())) - static_cast<double>(f)));
  }
  m.cosine = std::min(1.0, dot / (std::sqrt(aa) * std::sqrt(bb)));
  m.snr_db = 10 * std::log10(bb / dd);
  m.count = a.NumElements();
  return m;
}

void ExpectSame(const DiffMetrics& m, const DiffMetrics& expected, const std::string& what) {
  EXPECT_EQ(m.count, expected.count) << what;
  EXPECT_EQ(m.max_abs, expected.max_abs) << what;
  EXPECT_EQ(m.max_rel, expected.max_rel) << what;
  EXPECT_EQ(m.max_ulp, expected.max_ulp) << what;
  EXPECT_EQ(m.worst, expected.worst) << what;
  EXPECT_EQ(m.worst_a, expected.worst_a) << what;
  EXPECT_EQ(m.worst_b, expected.worst_b) << what;
  EXPECT_NEAR(m.cosine, expected.cosine, 1e-12) << what;
  EXPECT_NEAR(m.snr_db, expected.snr_db, 1e-9) << what;
}

TEST(Metrics, EqualTheirDefinitions) {
  for (const int64_t count : {1, 7, 8, 9, 255, 256, 300, 16384, 50001}) {
    for (const auto& [a, b] : {std::pair(DType::kF32, DType::kF32), std::pair(DType::kF32, DType::kF64),
                               std::pair(DType::kF64, DType::kF64)}) {
      const Pair pair = MakePair(a, b, count, static_cast<uint32_t>(count));
      const DiffMetrics expected = Expected(pair.a, pair.b);
      if (expected.max_abs == 0) continue;
      ExpectSame(CompareTensors(pair.a, pair.b), expected,
                 std::string(DTypeName(a)) + " " + DTypeName(b) + " " + std::to_string(count));
    }
  }
}

TEST(Metrics, OfAConstantRelativeError) {  // every block ties for the largest relative error
  Pair pair = MakePair(DType::kF64, DType::kF64, 5000);
  for (int64_t i = 0; i < 5000; ++i) pair.a.data<double>()[i] = pair.b.data<double>()[i] * 1.001;
  ExpectSame(CompareTensors(pair.a, pair.b), Expected(pair.a, pair.b), "x1.001");
}

TEST(Metrics, SameBitsForEveryThreadCountAndInstructionSet) {
  const Pair pair = MakePair(DType::kF32, DType::kF64, 100003);
  const DiffMetrics expected = CompareTensors(pair.a, pair.b);
  for (const char* isa : {"SSE41", "AVX2", "AVX512"}) {
    for (const int threads : {1, 2, 3}) {
      ASSERT_TRUE(SetMaxIsa(isa).ok());
      SetNumThreads(threads);
      const DiffMetrics m = CompareTensors(pair.a, pair.b);
      EXPECT_EQ(m.cosine, expected.cosine);
      EXPECT_EQ(m.snr_db, expected.snr_db);
      EXPECT_EQ(m.max_rel, expected.max_rel);
      EXPECT_EQ(m.worst, expected.worst);
    }
  }
  ASSERT_TRUE(SetMaxIsa("").ok());
  SetNumThreads(0);
}

TEST(Metrics, NonFiniteValuesAreCountedAndMustAgree) {
  Pair pair = MakePair(DType::kF32, DType::kF32, 1000);
  float* a = pair.a.data<float>();
  float* b = pair.b.data<float>();
  a[10] = b[10] = std::numeric_limits<float>::quiet_NaN();
  a[400] = b[400] = -std::numeric_limits<float>::infinity();
  DiffMetrics m = CompareTensors(pair.a, pair.b);
  EXPECT_EQ(m.nan_a + m.nan_b, 2);
  EXPECT_EQ(m.inf_a + m.inf_b, 2);
  EXPECT_TRUE(std::isfinite(m.max_abs));
  EXPECT_TRUE(std::isfinite(m.snr_db));
  a[700] = std::numeric_limits<float>::infinity();
  m = CompareTensors(pair.a, pair.b);
  EXPECT_EQ(m.max_abs, kInf);
  EXPECT_EQ(m.worst, 700);
  EXPECT_EQ(m.snr_db, -kInf);
}

TEST(Metrics, IntegersAreSubtractedInAWiderType) {
  Tensor a = Tensor::Create(DType::kI64, {2}).value(), b = Tensor::Create(DType::kI64, {2}).value();
  a.data<int64_t>()[0] = std::numeric_limits<int64_t>::max(),
  b.data<int64_t>()[0] = std::numeric_limits<int64_t>::min();
  a.data<int64_t>()[1] = (int64_t{1} << 60) + 1, b.data<int64_t>()[1] = int64_t{1} << 60;
  EXPECT_EQ(CompareTensors(a, b).max_abs, 0x1p64);
  a.data<int64_t>()[0] = b.data<int64_t>()[0];
  EXPECT_EQ(CompareTensors(a, b).max_abs, 1);
}

TEST(Metrics, ThreeAtOnceAreTheThreeAlone) {
  const Pair pair = MakePair(DType::kF32, DType::kF64, 40000);
  const Tensor own = MakePair(DType::kF64, DType::kF64, 40000, 2).a;
  const Differences all = CompareThree(pair.a, pair.b, own);
  ExpectSame(all.introduced, CompareTensors(pair.a, pair.b), "introduced");
  ExpectSame(all.inherited, CompareTensors(pair.b, own), "inherited");
  ExpectSame(all.total, CompareTensors(pair.a, own), "total");
}

}  // namespace
}  // namespace plumb
