// SPDX-License-Identifier: Apache-2.0
// float16 conversion against base/half.h: every half, and floats that tie, overflow, vanish or are special.
#include "simd/convert.h"

#include <algorithm>

#include "base/half.h"
#include "simd/simd_test_util.h"

namespace plumb::simd {
namespace {

TEST(SimdConvertTest, EveryHalf) {
  std::vector<uint16_t> halves(65536);
  for (size_t i = 0; i < halves.size(); ++i) halves[i] = static_cast<uint16_t>(i);
  ForEachIsa([&] {
    std::vector<float> floats(halves.size());
    std::vector<uint16_t> back(halves.size());
    HalfToFloat(halves.data(), floats.data(), halves.size());
    FloatToHalf(floats.data(), back.data(), halves.size());
    for (size_t i = 0; i < halves.size(); ++i) {
      const float expected = plumb::HalfToFloat(halves[i]);
      if (std::isnan(expected)) {
        ASSERT_TRUE(std::isnan(floats[i])) << i;
        ASSERT_TRUE(std::isnan(plumb::HalfToFloat(back[i]))) << i;
      } else {
        ASSERT_EQ(floats[i], expected) << i;
        ASSERT_EQ(back[i], halves[i]) << i;
      }
    }
  });
}

TEST(SimdConvertTest, RoundsLikeTheScalarCode) {
  std::vector<float> floats = Specials();
  for (const auto& part : {RandomBits(50000), Uniform(20000, -70000, 70000), Uniform(20000, -1e-7f, 1e-7f)}) {
    floats.insert(floats.end(), part.begin(), part.end());
  }
  for (int i = 0; i < 2048; ++i) floats.push_back(1 + (i + 0.5f) / 1024);  // ties
  ForEachIsa([&] {
    std::vector<uint16_t> halves(floats.size());
    FloatToHalf(floats.data(), halves.data(), floats.size());
    for (size_t i = 0; i < floats.size(); ++i) {
      if (std::isnan(floats[i])) {
        ASSERT_TRUE(std::isnan(plumb::HalfToFloat(halves[i])));
      } else {
        ASSERT_EQ(halves[i], plumb::FloatToHalf(floats[i])) << floats[i];
      }
    }
  });
}

TEST(SimdConvertTest, WholeNumbers) {
  std::vector<float> floats = Specials();
  for (const auto& part : {RandomBits(5000), Uniform(5001, -3e9f, 3e9f), Uniform(5000, -9, 9)})
    floats.insert(floats.end(), part.begin(), part.end());
  ForEachIsa([&] {
    std::vector<int32_t> whole(floats.size());
    std::vector<float> back(floats.size());
    FloatToInt(floats.data(), whole.data(), floats.size());
    IntToFloat(whole.data(), back.data(), whole.size());
    for (size_t i = 0; i < floats.size(); ++i) {
      const double x = std::isnan(floats[i]) ? 0 : std::trunc(static_cast<double>(floats[i]));
      ASSERT_EQ(whole[i], std::min(std::max(x, -2147483648.0), 2147483647.0)) << floats[i];
      ASSERT_EQ(back[i], static_cast<float>(whole[i])) << whole[i];
    }
  });
}

}  // namespace
}  // namespace plumb::simd
