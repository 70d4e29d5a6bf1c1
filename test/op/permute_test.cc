// SPDX-License-Identifier: Apache-2.0
#include "util/op_dtypes.h"

namespace plumb {

std::vector<OpCase> permute_cases() {
  // clang-format off
  std::vector<OpCase> cases = {
      OpCase("Permute", "transpose", "orders=[1,0]").In({2, 3}, {1, 2, 3, 4, 5, 6}).Out({1, 4, 2, 5, 3, 6})
          .OutShape({3, 2}),
      OpCase("Permute", "nchw_to_nhwc", "orders=[0,2,3,1]").In({1, 2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8})
          .Out({1, 5, 2, 6, 3, 7, 4, 8}).OutShape({1, 2, 2, 2}),
      OpCase("Permute", "unnamed_dims_follow", "orders=[2]").In({2, 1, 2}, {1, 2, 3, 4}).Out({1, 3, 2, 4})
          .OutShape({2, 2, 1}),
      OpCase("Permute", "rank_1", "orders=[0]").In({17}).OutShape({17}),
      OpCase("Permute", "rank_6", "orders=[5,0,4,1,3,2]").In({2, 3, 2, 5, 3, 2}).OutShape({2, 2, 3, 3, 5, 2}),
      OpCase("Permute", "large", "orders=[0,3,1,2]").In({2, 33, 65, 17}).OutShape({2, 17, 33, 65}),
      OpCase("Permute", "scalar").In({}).OutShape({}),
      OpCase("Permute", "empty_blob", "orders=[2,1,0]").In({2, 0, 3}).OutShape({3, 0, 2}),
      OpCase("Permute", "known_value", "orders=[1,0]").Const({2, 2}, {1, 2, 3, 4}, DType::kI32).Out({1, 3, 2, 4}),
      OpCase("Permute", "twice", "orders=[1,1]").In({2, 3}).Refused("order 1 stands twice"),
      OpCase("Permute", "outside", "orders=[0,2]").In({2, 3}).Refused("order 2 is no dim of"),
  };
  // clang-format on
  AddForEveryDType(OpCase("Permute", "dtype", "orders=[2,0,1]").In({3, 4, 5}), &cases);
  return cases;
}

}  // namespace plumb
