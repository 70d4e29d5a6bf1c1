// SPDX-License-Identifier: Apache-2.0
#include "util/op_dtypes.h"

namespace plumb {

std::vector<OpCase> flatten_cases() {
  // clang-format off
  std::vector<OpCase> cases = {
      OpCase("Flatten", "axis_1").In({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8}).Out({1, 2, 3, 4, 5, 6, 7, 8})
          .OutShape({2, 4}),
      OpCase("Flatten", "axis_0", "axis=0").In({2, 3, 5}).OutShape({1, 30}),
      OpCase("Flatten", "axis_is_rank", "axis=3").In({2, 3, 5}).OutShape({30, 1}),
      OpCase("Flatten", "scalar", "axis=0").In({}).OutShape({1, 1}),
      OpCase("Flatten", "rank_6", "axis=4").In({1, 2, 1, 3, 2, 2}).OutShape({6, 4}),
      OpCase("Flatten", "empty").In({2, 0, 3}).OutShape({2, 0}),
      OpCase("Flatten", "known_value").Const({2, 1}, {7, 9}, DType::kI64).Out({7, 9}).OutShape({2, 1}),
      OpCase("Flatten", "axis_outside", "axis=4").In({2, 3, 5}).Refused("axis 4 is outside 0 .. 3"),
  };
  // clang-format on
  return WithDoubles(std::move(cases));
}

}  // namespace plumb
