// SPDX-License-Identifier: Apache-2.0
#include "util/op_dtypes.h"

namespace plumb {

std::vector<OpCase> reverse_sequence_cases() {
  const DType i64 = DType::kI64;
  const std::vector<double> by_time = {0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15};
  // clang-format off
  std::vector<OpCase> cases = {
      OpCase("PlumbReverseSequence", "time_first").In({4, 4}, by_time).In({4}, {4, 3, 2, 1}, i64)
          .Out({3, 6, 9, 12, 2, 5, 8, 13, 1, 4, 10, 14, 0, 7, 11, 15}, 0),
      OpCase("PlumbReverseSequence", "batch_first", "batch_axis=0 time_axis=1").In({2, 3}, {1, 2, 3, 4, 5, 6})
          .In({2}, {3, 2}, DType::kI32).Out({3, 2, 1, 5, 4, 6}, 0),
      OpCase("PlumbReverseSequence", "inner", "batch_axis=0 time_axis=2").In({2, 3, 4, 5}).In({2}, {0, 4}, i64),
      OpCase("PlumbReverseSequence", "same_axis", "time_axis=-1").In({2, 3}).In({3}, Regime::kZeros, i64)
          .Refused("are both 1"),
      OpCase("PlumbReverseSequence", "lengths", "batch_axis=0 time_axis=1").In({2, 3}).In({3}, Regime::kZeros, i64)
          .Refused("one integer length per batch entry, [2]"),
  };
  // clang-format on
  AddForEveryDType(OpCase("PlumbReverseSequence", "dtype").In({3, 5}).In({5}, {0, 1, 2, 3, 2}, i64), &cases);
  return cases;
}

}  // namespace plumb
