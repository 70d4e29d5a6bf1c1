// SPDX-License-Identifier: Apache-2.0
#include "util/op_dtypes.h"

namespace plumb {

std::vector<OpCase> tile_cases() {
  // clang-format off
  std::vector<OpCase> cases = {
      OpCase("Tile", "both_dims", "repeats=[2,2]").In({1, 2}, {1, 2}).Out({1, 2, 1, 2, 1, 2, 1, 2}).OutShape({2, 4}),
      OpCase("Tile", "rows", "repeats=[2,1]").In({2, 2}, {1, 2, 3, 4}).Out({1, 2, 3, 4, 1, 2, 3, 4}).OutShape({4, 2}),
      OpCase("Tile", "columns", "repeats=[1,2]").In({2, 2}, {1, 2, 3, 4}).Out({1, 2, 1, 2, 3, 4, 3, 4})
          .OutShape({2, 4}),
      OpCase("Tile", "fewer_repeats", "repeats=[2]").In({2, 2}, {1, 2, 3, 4}).Out({1, 2, 1, 2, 3, 4, 3, 4})
          .OutShape({2, 4}),
      OpCase("Tile", "more_repeats", "repeats=[2,1,3]").In({2}, {1, 2}).Out({1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2})
          .OutShape({2, 1, 6}),
      OpCase("Tile", "from_input").In({2}, {1, 2}).Const({1}, {2}, DType::kI64).Out({1, 2, 1, 2}),
      OpCase("Tile", "rank_6", "repeats=[1,2,1,2,1,3]").In({2, 1, 3, 2, 1, 2}).OutShape({2, 2, 3, 4, 1, 6}),
      OpCase("Tile", "zero_times", "repeats=[1,0]").In({2, 3}).OutShape({2, 0}),
      OpCase("Tile", "no_repeats").In({2, 3}).OutShape({2, 3}),
      OpCase("Tile", "known_value", "repeats=[3]").Const({2}, {4, 5}, DType::kI32).Out({4, 5, 4, 5, 4, 5}),
      OpCase("Tile", "negative", "repeats=[2,-1]").In({2, 3}).Refused("repeat -1 of dim 1"),
      OpCase("Tile", "too_large", "repeats=[2147483647,2147483647,2147483647]").In({2, 3, 1}).Refused("2147483647"),
  };
  // clang-format on
  AddForEveryDType(OpCase("Tile", "dtype", "repeats=[2,1,3]").In({3, 5, 2}), &cases);
  return cases;
}

}  // namespace plumb
