// SPDX-License-Identifier: Apache-2.0
// The reference's GELU lies within one ULP of the true value, from the middle to the last subnormal of the tail.
#include "reference/core/gelu.h"

#include <gtest/gtest.h>

#include <cmath>

namespace plumb {
namespace {

struct Value {
  double x, y;
};

// x / 2 erfc(-x / sqrt 2) by GNU MPFR with 400 bits, rounded once.
constexpr Value kValues[] = {{-38.375, -0x0.000000000053cp-1022},
                             {-37.5, -0x1.367682a29e309p-1016},
                             {-36.341273060464744, -0x1.ff4f73cca3275p-955},
                             {-30, -0x1.601c52358b95dp-651},
                             {-20, -0x1.1876296f504b2p-290},
                             {-12.5, -0x1.f02494d8a3f13p-115},
                             {-8.25, -0x1.78a57d1131dd6p-51},
                             {-7.874885262916386, -0x1.e3d37c56d895bp-47},
                             {-5, -0x1.80bcbae98063dp-20},
                             {-4, -0x1.09ad7954afff8p-13},
                             {-3, -0x1.096697b244861p-8},
                             {-2, -0x1.74bcf82c9d860p-5},
                             {-1.5, -0x1.9a76a44e16be6p-4},
                             {-1, -0x1.44ed0bb7cb20bp-3},
                             {-0.9354023019122071, -0x1.4ed8cb87dd566p-3},
                             {-0.75, -0x1.5c19804106bbap-3},
                             {-0.5, -0x1.3bf143b9aa712p-3},
                             {-0.125, -0x1.cd116c3bf96a6p-5},
                             {-0.001, -0x1.05ef51a247ab0p-11},
                             {-1e-30, -0x1.4484bfeebc2a0p-101},
                             {1e-300, 0x1.56e1fc2f8f359p-998},
                             {1e-08, 0x1.5798ee5107764p-28},
                             {0.0625, 0x1.0cc2023b25766p-5},
                             {0.5, 0x1.62075e232ac77p-2},
                             {0.75, 0x1.28f99fefbe511p-1},
                             {1, 0x1.aec4bd120d37dp-1},
                             {1.2369, 0x1.1a6dcdeda08a0p+0},
                             {2, 0x1.f45a183e9b13dp+0},
                             {4, 0x1.fffbd94a1aad4p+1},
                             {6.5, 0x1.9fffffffb83efp+2},
                             {8.5, 0x1.1000000000000p+3},
                             {39.5, 0x1.3c00000000000p+5}};

double Ulp(double y) { return std::nextafter(std::fabs(y), INFINITY) - std::fabs(y); }

TEST(GeluTest, IsWithinOneUlp) {
  for (const Value& value : kValues) EXPECT_LE(std::fabs(Gelu(value.x) - value.y), Ulp(value.y)) << value.x;
}

TEST(GeluTest, FollowsItsFormulaAtTheEnds) {
  EXPECT_EQ(Gelu(INFINITY), INFINITY);
  EXPECT_TRUE(std::isnan(Gelu(-INFINITY)));
  EXPECT_TRUE(std::isnan(Gelu(NAN)));
  for (const double x : {-0.0, -40.0, -1e300}) {
    EXPECT_EQ(Gelu(x), 0) << x;
    EXPECT_TRUE(std::signbit(Gelu(x))) << x;
  }
  EXPECT_FALSE(std::signbit(Gelu(0.0)));
  EXPECT_EQ(Gelu(1e300), 1e300);
}

}  // namespace
}  // namespace plumb
