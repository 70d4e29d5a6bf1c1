// SPDX-License-Identifier: Apache-2.0
#include "util/op_dtypes.h"

namespace plumb {

std::vector<OpCase> gather_elements_cases() {
  const DType i64 = DType::kI64;
  // clang-format off
  std::vector<OpCase> cases = {
      OpCase("PlumbGatherElements", "axis_0").In({3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9})
          .In({2, 3}, {1, 2, 0, 2, 0, 0}, i64).Out({4, 8, 3, 7, 2, 3}, 0).OutShape({2, 3}),
      OpCase("PlumbGatherElements", "axis_1", "axis=1").In({2, 2}, {1, 2, 3, 4}).In({2, 2}, {0, 0, 1, 0}, DType::kI32)
          .Out({1, 1, 4, 3}, 0),
      OpCase("PlumbGatherElements", "negative", "axis=-1").In({2, 2}, {1, 2, 3, 4}).In({2, 1}, {-1, -2}, i64)
          .Out({2, 3}, 0),
      OpCase("PlumbGatherElements", "narrower", "axis=2").In({2, 3, 4})
          .In({1, 2, 7}, {0, 1, 2, 3, 0, 1, 2, 3, 3, 3, 0, 0, 1, 2}, i64).OutShape({1, 2, 7}),
      OpCase("PlumbGatherElements", "known_value").Const({3}, {7, 8, 9}, i64).Const({2}, {2, 0}, i64).Out({9, 7}, 0),
      OpCase("PlumbGatherElements", "empty").In({3, 2}).In({0, 2}, Regime::kZeros, i64).OutShape({0, 2}),
      OpCase("PlumbGatherElements", "rank_differs").In({3}).In({1, 1}, Regime::kZeros, i64)
          .Refused("do not fit the data [3]"),
      OpCase("PlumbGatherElements", "float_indices").In({3}).In({3}).Refused("indices must be integers"),
      OpCase("PlumbGatherElements", "outside").Const({2}, {1, 2}, i64).Const({1}, {2}, i64)
          .Refused("index 2 at position 0"),
  };
  // clang-format on
  AddForEveryDType(
      OpCase("PlumbGatherElements", "dtype", "axis=1").In({3, 5}).In({3, 4}, {0, 4, 2, 2, 1, 1, 3, 0, 4, 3, 2, 1}, i64),
      &cases);
  return cases;
}

}  // namespace plumb
