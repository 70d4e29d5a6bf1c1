// SPDX-License-Identifier: Apache-2.0
#include "util/op_case.h"

namespace plumb {

std::vector<OpCase> bitwise_cases() {
  const DType i32 = DType::kI32, i64 = DType::kI64, b = DType::kBool;
  // clang-format off
  return {
      OpCase("PlumbBitwiseAnd", "values").In({4}, {12, -1, 0, 5}, i32).In({4}, {10, 7, 3, -2}, i32)
          .Out({8, 7, 0, 4}, 0),
      OpCase("PlumbBitwiseAnd", "broadcast").In({2, 1}, {6, 3}, i64).In({3}, {1, 2, 4}, i64).Out({0, 2, 4, 1, 2, 0}, 0)
          .OutShape({2, 3}),
      OpCase("PlumbBitwiseOr", "values").In({3}, {12, -8, 0}, i64).In({3}, {10, 7, 0}, i64).Out({14, -1, 0}, 0),
      OpCase("PlumbBitwiseOr", "bools").In({4}, {0, 0, 1, 1}, b).In({4}, {0, 1, 0, 1}, b).Out({0, 1, 1, 1}, 0),
      OpCase("PlumbBitwiseXor", "values").In({3}, {12, -1, 5}, i32).In({3}, {10, 7, 5}, i32).Out({6, -8, 0}, 0),
      OpCase("PlumbBitwiseXor", "extremes").In({5, 7}, Regime::kExtremes, i64).In({7}, Regime::kExtremes, i64),
      OpCase("PlumbBitwiseNot", "values").In({3}, {0, 5, -1}, i64).Out({-1, -6, 0}, 0),
      OpCase("PlumbBitwiseNot", "bools").In({2}, {0, 1}, b).Out({1, 0}, 0),
      OpCase("PlumbBitShift", "right").In({3}, {16, 4, 1}, i64).In({3}, {1, 2, 3}, i64).Out({8, 1, 0}, 0),
      OpCase("PlumbBitShift", "left", "left").In({3}, {16, 4, 1}, i32).In({3}, {1, 2, 3}, i32).Out({32, 16, 8}, 0),
      OpCase("PlumbBitShift", "too_far", "left").In({2}, {1, 1}, i32).In({2}, {32, 31}, i32).Out({0, -2147483648.0}, 0),
      OpCase("PlumbBitwiseAnd", "floats").In({2}).In({2}).Refused("expects i32, i64 or bool operands, found f32"),
      OpCase("PlumbBitShift", "bools").In({1}, Regime::kBools, b).In({1}, Regime::kBools, b)
          .Refused("expects i32 or i64"),
      OpCase("PlumbBitwiseOr", "dtypes_differ").In({1}, Regime::kInts, i32).In({1}, Regime::kInts, i64)
          .Refused("different dtypes"),
  };
  // clang-format on
}

}  // namespace plumb
