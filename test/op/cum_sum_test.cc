// SPDX-License-Identifier: Apache-2.0
#include "util/op_case.h"

namespace plumb {

std::vector<OpCase> cum_sum_cases() {
  const DType i64 = DType::kI64;
  // clang-format off
  return {
      OpCase("PlumbCumSum", "plain").In({5}, {1, 2, 3, 4, 5}).Out({1, 3, 6, 10, 15}),
      OpCase("PlumbCumSum", "exclusive", "exclusive").In({5}, {1, 2, 3, 4, 5}).Out({0, 1, 3, 6, 10}),
      OpCase("PlumbCumSum", "reverse", "reverse").In({5}, {1, 2, 3, 4, 5}).Out({15, 14, 12, 9, 5}),
      OpCase("PlumbCumSum", "reverse_exclusive", "exclusive reverse").In({5}, {1, 2, 3, 4, 5}).Out({14, 12, 9, 5, 0}),
      OpCase("PlumbCumSum", "axis_input").In({2, 3}, {1, 2, 3, 4, 5, 6}).In({}, std::vector<double>{-1}, DType::kI32)
          .Out({1, 3, 6, 4, 9, 15}),
      OpCase("PlumbCumSum", "axis_0").In({2, 3}, {1, 2, 3, 4, 5, 6}).Const({1}, {0}, i64).Out({1, 2, 3, 5, 7, 9}),
      OpCase("PlumbCumSum", "wraps").In({2}, {2147483647, 1}, DType::kI32).Out({2147483647, -2147483648.0}, 0),
      OpCase("PlumbCumSum", "known_value", "reverse").Const({3}, {1, 2, 3}, i64).Out({6, 5, 3}, 0),
      OpCase("PlumbCumSum", "long_rows", "axis=1").In({3, 1000, 2}),
      OpCase("PlumbCumSum", "constant").In({5000}, Regime::kConstant),
      OpCase("PlumbCumSum", "offset", "axis=1 exclusive reverse").In({2, 700}, Regime::kOffset),
      OpCase("PlumbCumSum", "longer_than_a_loop", "axis=0 exclusive reverse").In({140000, 2}),
      OpCase("PlumbCumSum", "longer_than_a_loop_i64").In({140000}, Regime::kInts, i64),
      OpCase("PlumbCumSum", "middle_axis_input", "exclusive").In({3, 5, 2}).In({1}, {1}, i64),
      OpCase("PlumbCumSum", "empty").In({0, 3}),
      OpCase("PlumbCumSum", "f64", "axis=1").In({2, 3}, {1, 2, 3, 4, 5, 16777217}, DType::kF64)
          .Out({1, 3, 6, 4, 9, 16777226}, 0),
      OpCase("PlumbCumSum", "bools").In({2}, Regime::kBools, DType::kBool).Refused("expects floats, i32 or i64"),
      OpCase("PlumbCumSum", "axis_beyond_int32").In({2}).Const({1}, {4294967296.0}, i64)
          .Refused("axis 4294967296 is outside"),
      OpCase("PlumbCumSum", "axis_outside", "axis=1").In({2}).Refused("axis 1 is outside"),
  };
  // clang-format on
}

}  // namespace plumb
