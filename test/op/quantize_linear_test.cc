// SPDX-License-Identifier: Apache-2.0
#include "util/op_case.h"

namespace plumb {

std::vector<OpCase> quantize_linear_cases() {
  const DType i64 = DType::kI64;
  // clang-format off
  return {
      OpCase("PlumbQuantizeLinear", "u8").In({6}, {0, 2, 3, 1000, -254, -1000}).In({}, std::vector<double>{2})
          .In({}, std::vector<double>{128}, i64).Out({128, 129, 130, 255, 1, 0}, 0).OutShape({6}),
      OpCase("PlumbQuantizeLinear", "i8_ties_to_even", "dtype=i8").In({6}, {1, 3, 5, -1, -3, 1000})
          .In({}, std::vector<double>{2}).Out({0, 2, 2, 0, -2, 127}, 0),
      OpCase("PlumbQuantizeLinear", "per_axis").In({1, 3, 2}, {-162, 10, -100, 232, -20, -50}).In({3}, {2, 4, 5})
          .In({3}, {84, 24, 196}, DType::kI32).Out({3, 89, 0, 82, 192, 186}, 0),
      OpCase("PlumbQuantizeLinear", "blocked", "block_size=2 dtype=i16").In({2, 3}, {4, 6, 8, 10, 12, 14})
          .In({2, 2}, {2, 4, 1, 7}).Out({2, 3, 2, 10, 12, 2}, 0),
      OpCase("PlumbQuantizeLinear", "regime", "dtype=i8").In({3, 7, 5}).In({7}, Regime::kPositive),
      OpCase("PlumbQuantizeLinear", "long", "dtype=i8").In({3, 347}).In({1}, {0.013}).In({1}, {-7}, i64),
      OpCase("PlumbQuantizeLinear", "specials").In({2, 61}, Regime::kSpecials).In({}, std::vector<double>{0.5})
          .In({}, std::vector<double>{3}, i64),
      OpCase("PlumbQuantizeLinear", "specials_u16", "dtype=u16").In({2, 61}, Regime::kSpecials)
          .In({}, std::vector<double>{0.5}),
      OpCase("PlumbQuantizeLinear", "i32", "dtype=i32").In({6}, {1e6, 2.5, -2.5, 3e9, -3e9, 16777217})
          .In({}, std::vector<double>{1}).Out({1000000, 2, -2, 2147483647, -2147483648.0, 16777216}, 0),
      OpCase("PlumbDequantizeLinear", "long").In({3, 7, 61}, Regime::kInts, i64).In({7}, Regime::kPositive)
          .In({7}, Regime::kInts, i64),
      OpCase("PlumbDequantizeLinear", "u8").In({4}, {0, 3, 128, 255}, i64).In({}, std::vector<double>{2})
          .In({}, std::vector<double>{128}, i64).Out({-256, -250, 0, 254}),
      OpCase("PlumbDequantizeLinear", "per_axis", "axis=0").In({2, 2}, {3, 89, 34, 200}, DType::kI32).In({2}, {2, 4})
          .In({2}, {84, 24}, i64).Out({-162, 10, 40, 704}),
      OpCase("PlumbDequantizeLinear", "blocked", "axis=0 block_size=2").In({3, 1}, {1, 2, 3}, i64).In({2, 1}, {2, 10})
          .Out({2, 4, 30}),
      OpCase("PlumbDequantizeLinear", "large").In({3, 41}, Regime::kExtremes, DType::kI32).In({1}, {0.013}),
      OpCase("PlumbQuantizeLinear", "unknown_dtype", "dtype=f8").In({2}).In({1}, Regime::kPositive)
          .Refused("quantising to 'f8'"),
      OpCase("PlumbQuantizeLinear", "integers").In({2}, Regime::kInts, i64).In({1}, Regime::kPositive)
          .Refused("expects a float blob"),
      OpCase("PlumbQuantizeLinear", "scale_count").In({2, 3}).In({2}, Regime::kPositive)
          .Refused("expects one scale or 3"),
      OpCase("PlumbDequantizeLinear", "zero_point_count").In({2, 3}, Regime::kInts, i64).In({3}, Regime::kPositive)
          .In({1}, Regime::kInts, i64).Refused("the zero point must be integers, as many as scales"),
      OpCase("PlumbDequantizeLinear", "float_input").In({2}).In({1}, Regime::kPositive)
          .Refused("expects integers, found f32"),
  };
  // clang-format on
}

}  // namespace plumb
