// SPDX-License-Identifier: Apache-2.0
#include "util/op_dtypes.h"

namespace plumb {

std::vector<OpCase> identity_cases() {
  // clang-format off
  std::vector<OpCase> cases = {
      OpCase("Dropout", "values").In({2, 2}, {1, 2, 3, 4}).Out({1, 2, 3, 4}).OutShape({2, 2}),
      OpCase("Identity", "values").In({3}, {1, 2, 3}).Out({1, 2, 3}),
      OpCase("Identity", "specials").In({3, 50}, Regime::kSpecials),
      OpCase("Identity", "known_value").Const({3}, {1, -2, 3}, DType::kI64).Out({1, -2, 3}),
      OpCase("Identity", "scalar").In({}).OutShape({}),
      OpCase("Split", "three_outputs").Outputs(3).In({2}, {1, 2}).Out({1, 2}).Out({1, 2}).Out({1, 2}),
      OpCase("Split", "rank_6").Outputs(2).In({2, 3, 1, 2, 1, 5}).OutShape({2, 3, 1, 2, 1, 5})
          .OutShape({2, 3, 1, 2, 1, 5}),
      OpCase("Split", "empty_blob").Outputs(2).In({2, 0}).OutShape({2, 0}).OutShape({2, 0}),
  };
  // clang-format on
  AddForEveryDType(OpCase("Identity", "dtype").In({3, 7}), &cases);
  return cases;
}

}  // namespace plumb
