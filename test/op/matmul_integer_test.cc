// SPDX-License-Identifier: Apache-2.0
#include "util/op_case.h"

namespace plumb {

std::vector<OpCase> matmul_integer_cases() {
  const DType i64 = DType::kI64, i32 = DType::kI32;
  const std::vector<double> a = {11, 7, 3, 10, 6, 2, 9, 5, 1, 8, 4, 0}, b = {1, 4, 2, 5, 3, 6};
  // clang-format off
  return {
      OpCase("PlumbMatMulInteger", "zero_points", "has_a_zero_point has_b_zero_point").In({4, 3}, a, i64)
          .In({3, 2}, b, i64).In({1}, {12}, i64).In({1}, {0}, i64).Out({-38, -83, -44, -98, -50, -113, -56, -128}, 0),
      OpCase("PlumbMatMulInteger", "none").In({1, 3}, {1, 2, 3}, i32).In({3, 2}, b, i64).Out({14, 32}, 0)
          .OutShape({1, 2}),
      OpCase("PlumbMatMulInteger", "per_column", "has_b_zero_point").In({1, 3}, {1, 2, 3}, i64).In({3, 2}, b, i64)
          .In({2}, {1, 4}, i64).Out({8, 8}, 0),
      OpCase("PlumbMatMulInteger", "per_row", "has_a_zero_point").In({2, 2}, {1, 2, 3, 4}, i64).In({2, 1}, {1, 1}, i64)
          .In({2}, {1, 3}, i64).Out({1, 1}, 0),
      OpCase("PlumbMatMulInteger", "batch", "has_a_zero_point").In({2, 3, 5}, Regime::kInts, i64)
          .In({5, 4}, Regime::kInts, i64).In({}, std::vector<double>{3}, i64).OutShape({2, 3, 4}),
      OpCase("PlumbMatMulInteger", "longer_than_a_loop", "has_b_zero_point").In({2, 70000}, Regime::kInts, i64)
          .Const({70000, 2}, Regime::kInts, DType::kI8).Const({1}, {3}, DType::kI8),
      // Products of neighbours that overflow 16 bits, where vpmaddubsw saturates; and sums that overflow 32.
      OpCase("PlumbMatMulInteger", "extremes").In({2, 5}, std::vector<double>(10, 255), i64)
          .Const({5, 1}, std::vector<double>(5, -128), i64).Out({-163200, -163200}, 0),
      OpCase("PlumbMatMulInteger", "wraps", "has_a_zero_point").In({1, 3}, {46341, 1, 0}, i64)
          .In({3, 1}, {46341, 0, 0}, i64).In({1}, {0}, i64).Out({-2147479015}, 0),
      OpCase("PlumbMatMulInteger", "beyond_16_bits", "has_a_zero_point has_b_zero_point")
          .In({3, 7}, Regime::kExtremes, i64).In({7, 19}, Regime::kExtremes, i64).In({3}, {1, -40000, 70000}, i64)
          .In({1}, {-3}, i64).Seed(5),
      OpCase("PlumbMatMulInteger", "rest_of_tiles", "has_a_zero_point has_b_zero_point")
          .In({2, 31, 37}, Regime::kInts, i64).Const({37, 53}, Regime::kInts, i64).In({31}, Regime::kInts, i64)
          .Const({53}, Regime::kInts, i64),
      OpCase("PlumbMatMulInteger", "empty").In({3, 0}, Regime::kInts, i64).In({0, 4}, Regime::kInts, i64)
          .Out(std::vector<double>(12, 0), 0),
      OpCase("PlumbMatMulInteger", "flags", "has_a_zero_point").In({2, 2}, Regime::kInts, i64)
          .In({2, 2}, Regime::kInts, i64).Refused("the flags announce 3 inputs, found 2"),
      OpCase("PlumbMatMulInteger", "floats").In({2, 2}).In({2, 2}).Refused("expects integers, found f32"),
      OpCase("PlumbMatMulInteger", "zero_point_count", "has_a_zero_point").In({2, 2}, Regime::kInts, i64)
          .In({2, 2}, Regime::kInts, i64).In({3}, Regime::kInts, i64).Refused("must have 1 or 2 values"),
  };
  // clang-format on
}

}  // namespace plumb
