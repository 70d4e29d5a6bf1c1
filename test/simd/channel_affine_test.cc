// SPDX-License-Identifier: Apache-2.0
// Scales, shifts and clamped sums against float64, on every block size; NaN passes, tails are not overrun.
#include "simd/channel_affine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "simd/simd_test_util.h"

namespace plumb::simd {
namespace {

double Limited(double v, const Clamp& c) {
  return std::min(std::max(v, static_cast<double>(c.low)), static_cast<double>(c.high));
}

TEST(ChannelAffine, MatchesFloat64) {
  ForEachIsa([] {
    for (const int block : {1, 8, 16}) {
      const int64_t pixels = 37;
      const std::vector<float> scale = {0.5f, -1, 2, 0, 3, 1.25f, -0.5f, 1, 0.5f, -1, 2, 0, 3, 1.25f, -0.5f, 1};
      std::vector<float> shift(16, 0.25f), src(static_cast<size_t>(pixels * block) + 1), dst(src.size(), 99.0f);
      for (size_t i = 0; i < src.size(); ++i) src[i] = static_cast<float>(i % 23) - 11;
      const Clamp clamp{0, 6};
      ChannelAffinePlane(block, src.data(), pixels, scale.data(), shift.data(), clamp, dst.data());
      for (size_t i = 0; i + 1 < src.size(); ++i) {
        const double want = Limited(static_cast<double>(src[i]) * scale[i % static_cast<size_t>(block)] + 0.25, clamp);
        ASSERT_EQ(dst[i], static_cast<float>(want)) << "block " << block << ", element " << i;
      }
      EXPECT_EQ(dst.back(), 99.0f);
    }
  });
}

// One pixel is what as many planes of one pixel are, in place, too.
TEST(ChannelAffine, OnePixelIsPlanesOfOne) {
  ForEachIsa([] {
    const Clamp clamp{-0.5f, 1};
    for (size_t n = 1; n < 40; ++n) {
      std::vector<float> src(n), scale(n), shift(n), want(n);
      for (size_t i = 0; i < n; ++i) {
        src[i] = std::sin(static_cast<float>(i)), scale[i] = 1 + 0.1f * static_cast<float>(i), shift[i] = -0.2f;
        ChannelAffinePlane(1, &src[i], 1, &scale[i], &shift[i], clamp, &want[i]);
      }
      ChannelAffinePixel(src.data(), scale.data(), shift.data(), clamp, src.data(), n);
      EXPECT_EQ(src, want) << n;
    }
  });
}

TEST(ChannelAffine, AddsAndClamps) {
  ForEachIsa([] {
    std::vector<float> a(41), b(41), dst(42, 99.0f);
    for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i) - 20, b[i] = static_cast<float>(i % 5);
    a[3] = NAN;
    AddClamp(a.data(), b.data(), {0, 10}, dst.data(), a.size());
    EXPECT_TRUE(std::isnan(dst[3]));
    for (size_t i = 0; i < a.size(); ++i) {
      if (i == 3) continue;
      EXPECT_EQ(dst[i], static_cast<float>(Limited(static_cast<double>(a[i]) + b[i], {0, 10}))) << i;
    }
    EXPECT_EQ(dst[41], 99.0f);
  });
}

}  // namespace
}  // namespace plumb::simd
