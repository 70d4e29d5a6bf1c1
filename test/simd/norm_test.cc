// SPDX-License-Identifier: Apache-2.0
// Normalisations against float64 on every ISA: layer, instance and group norm, large means, constants; LRN in both
// layouts with even and odd windows, several exponents, squares beyond float; PReLU.
#include "simd/norm.h"

#include <algorithm>

#include "simd/prelu.h"
#include "simd/simd_test_util.h"

namespace plumb::simd {
namespace {

struct Stats {
  double mean, std;
};

// `count` values, `stride` apart.
Stats StatsOf(const float* x, int64_t count, int64_t stride, double epsilon) {
  double sum = 0, squares = 0;
  for (int64_t i = 0; i < count; ++i) sum += x[i * stride];
  const double mean = sum / count;
  for (int64_t i = 0; i < count; ++i) squares += (x[i * stride] - mean) * (x[i * stride] - mean);
  return {mean, std::sqrt(squares / count + epsilon)};
}

void ExpectNorm(float x, const Stats& s, double gamma, double beta, float y) {
  const double z = (x - s.mean) / s.std, reference = z * gamma + beta;
  const double scale = gamma * gamma * (z * z + x * x / (s.std * s.std)) + beta * beta + reference * reference;
  const double tau = 12 * kU * std::sqrt(scale) + 4 * kEta * (1 + std::fabs(gamma) / s.std);
  ASSERT_LE(ErrorInTau(y, reference, tau), 0.25) << "x " << x << ": " << y << ", float64 " << reference;
}

TEST(SimdNormTest, LayerNormRows) {
  ForEachIsa([] {
    for (int64_t n : {1, 7, 64, 768, 8193}) {
      for (float mean : {0.0f, 100.0f, -1e4f}) {
        const std::vector<float> src = Uniform(n, mean - 1, mean + 1), gamma = Uniform(n, 0.5f, 2, 8);
        const std::vector<float> beta = Uniform(n, -1, 1, 9);
        const Stats stats = StatsOf(src.data(), n, 1, 1e-5);
        std::vector<float> dst(n + 1, 777.0f), bare(n);
        LayerNormRow(src.data(), n, 1e-5, gamma.data(), beta.data(), dst.data());
        LayerNormRow(src.data(), n, 1e-5, nullptr, nullptr, bare.data());
        ASSERT_EQ(dst.back(), 777.0f);
        for (int64_t i = 0; i < n; ++i) {
          ExpectNorm(src[i], stats, gamma[i], beta[i], dst[i]);
          ExpectNorm(src[i], stats, 1, 0, bare[i]);
        }
      }
    }
  });
}

TEST(SimdNormTest, MomentsAndRows) {
  ForEachIsa([] {
    for (float spread : {0.0f, 1e-3f, 3.0f, 1e20f}) {
      const int64_t n = 1003;
      std::vector<float> row = Uniform(n, 5 - spread, 5 + spread);
      const std::vector<float> src = row;
      const Stats stats = StatsOf(src.data(), n, 1, 1e-5);
      NormRow(row.data(), n, Moments(row.data(), n, 1e-5), 1.7f, -0.3f, row.data());
      for (int64_t i = 0; i < n; ++i) ExpectNorm(src[i], stats, 1.7f, -0.3f, row[i]);
    }
  });
}

TEST(SimdNormTest, InstanceNormOfBlocks) {
  ForEachIsa([] {
    for (int block : {8, 16}) {
      for (int64_t pixels : {1, 49, 400}) {
        std::vector<float> src = Uniform(pixels * block, 2, 4), gamma = Uniform(block, 0.5f, 2, 8);
        std::vector<float> beta = Uniform(block, -1, 1, 9), dst(pixels * block);
        gamma[block - 1] = beta[block - 1] = 0;
        for (int64_t i = 0; i < pixels; ++i) src[i * block + block - 1] = 0;
        InstanceNormPlane(block, src.data(), pixels, 1e-5, gamma.data(), beta.data(), dst.data());
        for (int64_t i = 0; i < pixels * block; ++i) {
          const int c = i % block;
          ExpectNorm(src[i], StatsOf(src.data() + c, pixels, block, 1e-5), gamma[c], beta[c], dst[i]);
          if (c == block - 1) {
            ASSERT_EQ(dst[i], 0.0f);
          }
        }
      }
    }
  });
}

void ExpectLrn(const LrnParams& p, const std::vector<float>& plain, int64_t channel, int64_t pixel, float y) {
  double sum = 0;
  for (int64_t c = channel - (p.size - 1) / 2; c <= channel + p.size / 2; ++c) {
    const double x = c < 0 || c >= p.channels ? 0 : plain[c * p.pixels + pixel];
    sum += x * x;
  }
  const double q = static_cast<double>(p.bias) + static_cast<double>(p.alpha) / p.size * sum;
  const double reference = plain[channel * p.pixels + pixel] / std::pow(q, static_cast<double>(p.beta));
  const double tau = 24 * kU * std::fabs(reference) * std::sqrt(1 + std::log(q) * std::log(q)) + 4 * kEta;
  ASSERT_LE(ErrorInTau(y, reference, tau), 0.25) << "size " << p.size << " channels " << p.channels << " channel "
                                                 << channel << ": " << y << ", float64 " << reference;
}

void CheckLrn(const LrnParams& p, const std::vector<float>& plain) {
  std::vector<float> dst(plain.size() + 1, 777.0f);
  Lrn(p, plain.data(), 0, p.pixels / 2, dst.data());
  Lrn(p, plain.data(), p.pixels / 2, p.pixels, dst.data());
  ASSERT_EQ(dst.back(), 777.0f);
  for (int64_t i = 0; i < p.channels * p.pixels; ++i) ExpectLrn(p, plain, i / p.pixels, i % p.pixels, dst[i]);
  for (int block : {8, 16}) {
    const int64_t blocks = (p.channels + block - 1) / block;
    const auto at = [&](int64_t c, int64_t i) { return (c / block * p.pixels + i) * block + c % block; };
    std::vector<float> blocked(blocks * p.pixels * block), out(blocked.size(), 777.0f);
    for (int64_t i = 0; i < p.channels * p.pixels; ++i) blocked[at(i / p.pixels, i % p.pixels)] = plain[i];
    LrnBlocked(p, block, blocked.data(), 0, p.pixels / 3, out.data());
    LrnBlocked(p, block, blocked.data(), p.pixels / 3, p.pixels, out.data());
    for (int64_t c = 0; c < blocks * block; ++c) {
      for (int64_t i = 0; i < p.pixels; ++i) {
        if (c < p.channels) {
          ExpectLrn(p, plain, c, i, out[at(c, i)]);
        } else {
          ASSERT_EQ(out[at(c, i)], 0.0f);
        }
      }
    }
  }
}

TEST(SimdNormTest, Lrn) {
  ForEachIsa([] {
    for (float beta : {0.75f, 0.5f, 1.3f}) {
      for (int size : {1, 4, 5}) {
        for (int64_t channels : {1, 3, 16, 37}) {
          LrnParams p{channels, 35, size, 1e-2f, beta, 1.0f};
          CheckLrn(p, Uniform(channels * 35, -5, 5));
          p.alpha = 1.0f;
          CheckLrn(p, Uniform(channels * 35, -110, -3));
          p.bias = 2.0f;
          CheckLrn(p, RandomBits(channels * 35));
        }
      }
    }
    CheckLrn({2100, 3, 5, 1e-4f, 0.75f, 1.0f}, Uniform(2100 * 3, -5, 5));
  });
}

double NormOf(NormKind kind, const float* x, int64_t n, int64_t stride) {
  double sum = 0, squares = 0, max = 0, min = HUGE_VAL;
  for (int64_t i = 0; i < n; ++i) {
    const double v = std::fabs(x[i * stride]);
    if (std::isnan(v)) return NAN;
    sum += v, squares += v * v, max = std::max(max, v), min = std::min(min, v);
  }
  switch (kind) {
    case NormKind::kL1: return sum;
    case NormKind::kL2: return std::sqrt(squares);
    case NormKind::kMaxAbs: return max;
    default: return min;
  }
}

void CheckNormalize(const std::vector<float>& src, int64_t n, int64_t inner) {
  for (NormKind kind : {NormKind::kL1, NormKind::kL2, NormKind::kMaxAbs, NormKind::kMinAbs}) {
    std::vector<float> dst = src;
    dst.push_back(777.0f);
    Normalize(kind, dst.data(), n, inner, 0, inner / 2, 1e-12, dst.data());
    Normalize(kind, dst.data(), n, inner, inner / 2, inner, 1e-12, dst.data());
    ASSERT_EQ(dst.back(), 777.0f);
    for (int64_t i = 0; i < n * inner; ++i) {
      const double norm = NormOf(kind, src.data() + i % inner, n, inner);
      const double y = src[i] / (norm < 1e-12 ? 1e-12 : norm);
      ASSERT_LE(ErrorInTau(dst[i], y, 12 * kU * std::fabs(y) + 4 * kEta), 0.25)
          << "kind " << static_cast<int>(kind) << " n " << n << " inner " << inner << ": " << dst[i] << ", float64 "
          << y;
    }
  }
}

TEST(SimdNormTest, Normalize) {
  ForEachIsa([] {
    for (int64_t n : {1, 5, 64, 513}) {
      for (int64_t inner : {1, 3, 16, 37}) {
        CheckNormalize(Uniform(n * inner, -3, 3), n, inner);
        CheckNormalize(RandomBits(n * inner), n, inner);
        CheckNormalize(std::vector<float>(n * inner, 0.0f), n, inner);
        CheckNormalize(std::vector<float>(n * inner, 3e38f), n, inner);
      }
    }
  });
}

TEST(SimdNormTest, Prelu) {
  ForEachIsa([] {
    for (int block : {1, 8, 16}) {
      std::vector<float> src = Uniform(block * 33, -3, 3), dst(src.size());
      src[3] = NAN;
      const std::vector<float> slope = Uniform(block, -0.5f, 0.5f);
      PreluPlane(block, src.data(), 33, slope.data(), dst.data());
      for (size_t i = 0; i < src.size(); ++i) {
        const float y = src[i] < 0 ? src[i] * slope[i % block] : src[i];
        ASSERT_EQ(ErrorInTau(dst[i], y, 0), 0);
      }
    }
  });
}

}  // namespace
}  // namespace plumb::simd
