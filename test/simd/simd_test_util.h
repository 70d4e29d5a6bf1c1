// SPDX-License-Identifier: Apache-2.0
// What the tests of the vector kernels share: every ISA of this CPU in turn, input ranges, and errors in units of tau.
#ifndef PLUMB_TEST_DEVICE_SIMD_SIMD_TEST_UTIL_H_
#define PLUMB_TEST_DEVICE_SIMD_SIMD_TEST_UTIL_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "base/cpu.h"
#include "simd/simd.h"

namespace plumb::simd {

constexpr double kU = 0x1p-24;     // unit roundoff of float
constexpr double kEta = 0x1p-126;  // smallest normal float

// Calls body() once for each ISA that this CPU has, and takes the cap away afterwards.
template <class Body>
void ForEachIsa(const Body& body) {
  for (Isa isa : {Isa::kSse41, Isa::kAvx2, Isa::kAvx512, Isa::kNeon}) {
    ASSERT_TRUE(SetMaxIsa(IsaName(isa)).ok());
    if (EffectiveIsa() != isa) continue;
    SCOPED_TRACE(std::string("target ") + TargetName());
    body();
  }
  ASSERT_TRUE(SetMaxIsa("").ok());
}

inline std::vector<float> Uniform(size_t n, float lo, float hi, unsigned seed = 1) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> distribution(lo, hi);
  std::vector<float> values(n);
  for (float& value : values) value = distribution(generator);
  return values;
}

// Random bit patterns: every exponent, subnormals, infinities and NaN among them.
inline std::vector<float> RandomBits(size_t n, unsigned seed = 2) {
  std::mt19937 generator(seed);
  std::vector<float> values(n);
  for (float& value : values) {
    const uint32_t bits = generator();
    std::memcpy(&value, &bits, sizeof(bits));
  }
  return values;
}

inline std::vector<float> Specials() {
  const float inf = std::numeric_limits<float>::infinity();
  std::vector<float> values = {0.0f,       0.5f,   1.0f,       2.0f,        3.0f,          6.0f,    0.99999994f,
                               1.0000001f, 1e-10f, 1e-38f,     1e-45f,      1e-40f,        88.0f,   88.72283f,
                               88.7229f,   89.5f,  104.0f,     103.97f,     87.33655f,     9.01f,   10.0f,
                               17.5f,      1e4f,   1e6f,       1.5e6f,      1e10f,         3.4e38f, 1.5707964f,
                               3.1415927f, 355.0f, 8388609.0f, 16777216.0f, 2147483648.0f, 1e20f,   inf};
  const size_t n = values.size();
  for (size_t i = 0; i < n; ++i) values.push_back(-values[i]);
  values.push_back(std::numeric_limits<float>::quiet_NaN());
  return values;
}

// |value - reference| / tau; 0 when both are the same special value or exactly equal, infinite when only one is
// special.
inline double ErrorInTau(float value, double reference, double tau) {
  const float rounded = static_cast<float>(reference);
  if (std::isnan(rounded) || std::isnan(value)) return std::isnan(rounded) && std::isnan(value) ? 0 : HUGE_VAL;
  if (value == rounded) return 0;
  if (std::isinf(rounded) != std::isinf(value)) {
    // the largest float beside infinity is one rounding, not a wrong class
    const double finite = std::isinf(rounded) ? value : rounded;
    return std::fabs(finite) > 0x1.fffff0p127 && (finite > 0) == (value > 0) ? 0.2 : HUGE_VAL;
  }
  return std::fabs(value - reference) / tau;
}

}  // namespace plumb::simd

#endif  // PLUMB_TEST_DEVICE_SIMD_SIMD_TEST_UTIL_H_
