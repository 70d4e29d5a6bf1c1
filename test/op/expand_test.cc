// SPDX-License-Identifier: Apache-2.0
#include "util/op_dtypes.h"

namespace plumb {

std::vector<OpCase> expand_cases() {
  // clang-format off
  std::vector<OpCase> cases = {
      OpCase("Expand", "rows", "shape=[2,3]").In({1, 3}, {1, 2, 3}).Out({1, 2, 3, 1, 2, 3}).OutShape({2, 3}),
      OpCase("Expand", "columns", "shape=[2,2]").In({2, 1}, {1, 2}).Out({1, 1, 2, 2}),
      OpCase("Expand", "both_ways", "shape=[2,1,2]").In({3, 1}, {1, 2, 3}).Out({1, 1, 2, 2, 3, 3, 1, 1, 2, 2, 3, 3})
          .OutShape({2, 3, 2}),
      OpCase("Expand", "minus_one_keeps", "shape=[-1,4]").In({3, 1}).OutShape({3, 4}),
      OpCase("Expand", "from_input").In({1, 2}, {5, 6}).Const({2}, {2, 1}, DType::kI64).Out({5, 6, 5, 6})
          .OutShape({2, 2}),
      OpCase("Expand", "scalar", "shape=[2,2]").In({}, std::vector<double>{7}).Out({7, 7, 7, 7}),
      OpCase("Expand", "rank_6", "shape=[1,1,1,4,1,2]").In({2, 3, 2, 1, 2, 1}).OutShape({2, 3, 2, 4, 2, 2}),
      OpCase("Expand", "to_zero", "shape=[0,3]").In({1, 3}).OutShape({0, 3}),
      OpCase("Expand", "known_value", "shape=[3]").Const({1}, {9}, DType::kI64).Out({9, 9, 9}),
      OpCase("Expand", "dims_differ", "shape=[2,4]").In({2, 3}).Refused("do not broadcast at dim 1"),
      OpCase("Expand", "negative", "shape=[2,-3]").In({2, 1}).Refused("the shape of Expand"),
      OpCase("Expand", "float_shape").In({1}).Const({1}, {2}).Refused("must be integers, found f32"),
  };
  // clang-format on
  AddForEveryDType(OpCase("Expand", "dtype", "shape=[4,3,5]").In({4, 1, 5}), &cases);
  return cases;
}

}  // namespace plumb
