// SPDX-License-Identifier: Apache-2.0
#include "util/op_dtypes.h"

namespace plumb {

std::vector<OpCase> shuffle_channel_cases() {
  // clang-format off
  std::vector<OpCase> cases = {
      OpCase("ShuffleChannel", "group_2", "group=2").In({1, 6, 1, 1}, {0, 1, 2, 3, 4, 5}).Out({0, 3, 1, 4, 2, 5}),
      OpCase("ShuffleChannel", "group_3", "group=3").In({1, 6, 1, 1}, {0, 1, 2, 3, 4, 5}).Out({0, 2, 4, 1, 3, 5}),
      OpCase("ShuffleChannel", "pixels_stay_together", "group=2").In({1, 4, 1, 2}, {0, 1, 10, 11, 20, 21, 30, 31})
          .Out({0, 1, 20, 21, 10, 11, 30, 31}),
      OpCase("ShuffleChannel", "batch_2", "group=5").In({2, 35, 3, 7}).OutShape({2, 35, 3, 7}),
      OpCase("ShuffleChannel", "rank_2", "group=3").In({2, 9}).OutShape({2, 9}),
      OpCase("ShuffleChannel", "group_1").In({1, 5, 2, 2}).OutShape({1, 5, 2, 2}),
      OpCase("ShuffleChannel", "no_multiple", "group=4").In({1, 6, 2, 2}).Refused("no dim 1 that splits into 4 groups"),
      OpCase("ShuffleChannel", "group_0", "group=0").In({1, 6, 2, 2}).Refused("0 groups"),
  };
  // clang-format on
  AddForEveryDType(OpCase("ShuffleChannel", "dtype", "group=3").In({2, 6, 2, 3}), &cases);
  return cases;
}

}  // namespace plumb
