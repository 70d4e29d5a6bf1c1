// SPDX-License-Identifier: Apache-2.0
#include "util/op_dtypes.h"

namespace plumb {

std::vector<OpCase> shape_cases() {
  // clang-format off
  std::vector<OpCase> cases = {
      OpCase("Shape", "rank_4").In({1, 3, 224, 7}).Out({1, 3, 224, 7}, 0).OutShape({4}),
      OpCase("Shape", "scalar").In({}).OutShape({0}),
      OpCase("Shape", "empty_blob").In({2, 0}).Out({2, 0}, 0),
      OpCase("Size", "rank_3").In({2, 3, 5}).Out({30}, 0).OutShape({1}),
      OpCase("Size", "scalar").In({}).Out({1}, 0).OutShape({1}),
      OpCase("Size", "empty_blob").In({2, 0}).Out({0}, 0).OutShape({1}),
  };
  // clang-format on
  AddForEveryDType(OpCase("Shape", "dtype").In({3, 7}), &cases);
  return cases;
}

}  // namespace plumb
