// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "util/op_dtypes.h"

namespace plumb {

std::vector<OpCase> top_k_cases() {
  const DType i64 = DType::kI64;
  const std::vector<double> twelve = {0, 1, 2, 3, 4, 5, 6, 7, 11, 10, 9, 8};
  // clang-format off
  return WithDoubles({
      OpCase("PlumbTopK", "largest", "axis=1").Outputs(2).In({3, 4}, twelve).Const({1}, {3}, i64)
          .Out({3, 2, 1, 7, 6, 5, 11, 10, 9}, 0).Out({3, 2, 1, 3, 2, 1, 0, 1, 2}, 0).OutShape({3, 3}),
      OpCase("PlumbTopK", "smallest", "largest=0").Outputs(2).In({3, 4}, twelve).Const({1}, {3}, i64)
          .Out({0, 1, 2, 4, 5, 6, 8, 9, 10}, 0).Out({0, 1, 2, 0, 1, 2, 3, 2, 1}, 0),
      OpCase("PlumbTopK", "first_axis", "axis=0").Outputs(2).In({3, 2}, {1, 6, 5, 4, 3, 2}).Const({1}, {2}, i64)
          .Out({5, 6, 3, 4}, 0).Out({1, 0, 2, 1}, 0).OutShape({2, 2}),
      OpCase("PlumbTopK", "ties", "axis=0").Outputs(2).In({5}, {1, 3, 3, 1, 3}, i64).Const({1}, {4}, i64)
          .Out({3, 3, 3, 1}, 0).Out({1, 2, 4, 0}, 0),
      OpCase("PlumbTopK", "nan", "axis=0 largest=0").Outputs(2).In({3}, {NAN, 2, 1}).Const({1}, {3}, i64)
          .Out({1, 2, NAN}, 0).Out({2, 1, 0}, 0),
      OpCase("PlumbTopK", "middle_axis", "axis=1").Outputs(2).In({3, 17, 5}).Const({1}, {4}, i64).Out({})
          .OutShape({3, 4, 5}),
      OpCase("PlumbTopK", "all_specials").Outputs(2).In({4, 9}, Regime::kSpecials).Const({1}, {9}, i64),
      OpCase("PlumbTopK", "none", "axis=0").Outputs(2).In({3}).Const({1}, {0}, i64).Out({}).OutShape({0}),
      OpCase("PlumbTopK", "known_value", "axis=0 largest=0").Outputs(2).Const({2, 2}, {5, 2, 3, 9}, i64)
          .Const({1}, {1}, i64).Out({3, 2}, 0).Out({1, 0}, 0),
      OpCase("TopK", "parameter", "axis=1 k=2").Outputs(2).In({2, 3}, {1, 3, 2, 6, 5, 4}, DType::kI32)
          .Out({3, 2, 6, 5}, 0).Out({1, 2, 0, 1}, 0),
      OpCase("TopK", "long_row", "axis=0 largest=0 k=7").Outputs(2).In({1000}),
      OpCase("TopK", "longer_than_a_loop", "axis=1 k=11").Outputs(2).In({2, 70001}, Regime::kInts),
      OpCase("TopK", "rows_apart_and_long", "axis=0 k=3").Outputs(2).In({5000, 3}, Regime::kSpecials),
      OpCase("TopK", "f64", "axis=0 k=2").Outputs(2).In({3}, {16777216, 16777218, 16777217}, DType::kF64)
          .Out({16777218, 16777217}, 0).Out({1, 2}, 0),
      OpCase("PlumbTopK", "too_many", "axis=0").Outputs(2).In({3}).Const({1}, {4}, i64)
          .Refused("k 4 is outside 0 .. 3"),
      OpCase("PlumbTopK", "k_unknown", "axis=0").Outputs(2).In({3}).In({1}, Regime::kZeros, i64)
          .Refused("k comes from a blob [1]"),
      OpCase("TopK", "no_k", "axis=0").Outputs(2).In({3}).Refused("k is neither a parameter nor an input"),
      OpCase("PlumbTopK", "bools", "axis=0").Outputs(2).In({3}, Regime::kBools, DType::kBool).Const({1}, {1}, i64)
          .Refused("expects f32, f64, i32 or i64"),
  });
  // clang-format on
}

}  // namespace plumb
