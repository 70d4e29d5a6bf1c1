// SPDX-License-Identifier: Apache-2.0
// The functions of whole numbers in op/binary.def at the extremes of their types.
#include "op/core/whole_numbers.h"

#include <gtest/gtest.h>

#include <limits>

namespace plumb {
namespace {

template <class T>
T Whole(OpKind kind, T a, T b) {
  T y = 99;
  EXPECT_TRUE(whole::WithBinary<T>(kind, [&](auto f) { y = f(a, b); })) << static_cast<int>(kind);
  return y;
}

template <class T>
void CheckIntegers() {
  const T min = std::numeric_limits<T>::min(), max = std::numeric_limits<T>::max();
  EXPECT_EQ(Whole<T>(OpKind::kAdd, max, 1), min);
  EXPECT_EQ(Whole<T>(OpKind::kSub, min, 1), max);
  EXPECT_EQ(Whole<T>(OpKind::kMul, max, 2), -2);
  EXPECT_EQ(Whole<T>(OpKind::kDiv, 7, -2), -3);
  EXPECT_EQ(Whole<T>(OpKind::kDiv, 7, 0), 0);
  EXPECT_EQ(Whole<T>(OpKind::kDiv, min, -1), min);
  EXPECT_EQ(Whole<T>(OpKind::kMaximum, min, max), max);
  EXPECT_EQ(Whole<T>(OpKind::kMinimum, min, max), min);
  EXPECT_EQ(Whole<T>(OpKind::kPlumbPow, 3, 5), 243);
  EXPECT_EQ(Whole<T>(OpKind::kPlumbPow, -1, -3), -1);
  EXPECT_EQ(Whole<T>(OpKind::kPlumbPow, 2, -1), 0);
  EXPECT_EQ(Whole<T>(OpKind::kPlumbPow, 5, 0), 1);
  EXPECT_EQ(Whole<T>(OpKind::kSquaredDifference, 3, 7), 16);
  EXPECT_EQ(Whole<T>(OpKind::kSquaredDifference, min, max), 1);
  EXPECT_EQ(Whole<T>(OpKind::kPlumbMod, -7, 3), 2);
  EXPECT_EQ(Whole<T>(OpKind::kPlumbMod, min, -1), 0);
  EXPECT_EQ(Whole<T>(OpKind::kPlumbFmod, -7, 3), -1);
  EXPECT_EQ(Whole<T>(OpKind::kPlumbFmod, 7, 0), 0);
}

TEST(WholeNumbersTest, DefinedAtTheExtremes) {
  CheckIntegers<int32_t>();
  CheckIntegers<int64_t>();
}

TEST(WholeNumbersTest, OnlyRowsOfTheList) {
  EXPECT_FALSE(whole::WithBinary<int32_t>(OpKind::kConvolution, [](auto) {}));
}

}  // namespace
}  // namespace plumb
