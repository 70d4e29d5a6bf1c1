// SPDX-License-Identifier: Apache-2.0
#include "util/op_dtypes.h"

namespace plumb {

std::vector<OpCase> where_cases() {
  // clang-format off
  std::vector<OpCase> cases = {
      OpCase("Where", "values").In({3}, {1, 2, 3}).In({3}, {-1, -2, -3}).In({3}, {1, 0, 1}, DType::kBool)
          .Out({1, -2, 3}),
      OpCase("Where", "broadcast").In({1, 2}, {1, 2}).In({}, std::vector<double>{9}).In({2, 1}, {1, 0}, DType::kI32)
          .Out({1, 2, 9, 9}).OutShape({2, 2}),
      OpCase("Where", "rank_5").In({2, 1, 3, 1, 2}).In({4, 1}).In({3, 4, 2}, Regime::kBools, DType::kI64)
          .OutShape({2, 1, 3, 4, 2}),
      OpCase("Where", "specials").In({5, 9}, Regime::kSpecials).In({5, 9}, Regime::kSpecials)
          .In({5, 9}, Regime::kBools, DType::kBool).Seed(2),
      OpCase("Where", "known_value").Const({2}, {4, 5}, DType::kI64).Const({2}, {-1, -2}, DType::kI64)
          .Const({2}, {0, 1}, DType::kBool).Out({-1, 5}, 0),
      OpCase("Where", "empty_blob").In({0, 2}).In({2}).In({1}, Regime::kBools, DType::kBool).OutShape({0, 2}),
      OpCase("Where", "float_condition").In({2}).In({2}).In({2}).Refused("a condition of bool or integers"),
      OpCase("Where", "dtypes_differ").In({2}).In({2}, Regime::kInts, DType::kI32).In({2}, Regime::kBools, DType::kBool)
          .Refused("x and y of one dtype"),
  };
  // clang-format on
  return WithDoubles(std::move(cases));
}

}  // namespace plumb
