// SPDX-License-Identifier: Apache-2.0
#include "util/op_dtypes.h"

namespace plumb {

std::vector<OpCase> split_v_cases() {
  // clang-format off
  std::vector<OpCase> cases = {
      OpCase("SplitV", "sizes", "axis=1 slices=[1,2]").Outputs(2).In({2, 3}, {1, 2, 3, 4, 5, 6}).Out({1, 4})
          .OutShape({2, 1}).Out({2, 3, 5, 6}).OutShape({2, 2}),
      OpCase("SplitV", "equal_parts").Outputs(2).In({4}, {1, 2, 3, 4}).Out({1, 2}).Out({3, 4}),
      OpCase("SplitV", "negative_axis", "axis=-1 slices=[2,0,3]").Outputs(3).In({2, 1, 5}).OutShape({2, 1, 2})
          .OutShape({2, 1, 0}).OutShape({2, 1, 3}),
      OpCase("SplitV", "rank_6", "axis=3 slices=[1,2]").Outputs(2).In({2, 1, 2, 3, 2, 2}).OutShape({2, 1, 2, 1, 2, 2})
          .OutShape({2, 1, 2, 2, 2, 2}),
      OpCase("SplitV", "known_value", "slices=[1,1,2]").Outputs(3).Const({4}, {1, -2, 3, 4}, DType::kI64).Out({1})
          .Out({-2}).Out({3, 4}),
      OpCase("SplitV", "uneven", "axis=1").Outputs(2).In({2, 3}).Refused("does not split into 2 equal outputs"),
      OpCase("SplitV", "wrong_sum", "axis=1 slices=[1,1]").Outputs(2).In({2, 3})
          .Refused("add up to 2, but axis 1 has length 3"),
      OpCase("SplitV", "wrong_count", "axis=1 slices=[1,1,1]").Outputs(2).In({2, 3})
          .Refused("3 slice sizes for 2 outputs"),
      OpCase("SplitV", "negative_size", "axis=1 slices=[4,-1]").Outputs(2).In({2, 3}).Refused("-1 is negative"),
  };
  // clang-format on
  AddForEveryDType(OpCase("SplitV", "dtype", "axis=1 slices=[3,4]").Outputs(2).In({3, 7, 2}), &cases);
  return WithDoubles(std::move(cases));
}

}  // namespace plumb
