// SPDX-License-Identifier: Apache-2.0
#include "util/op_dtypes.h"

namespace plumb {

std::vector<OpCase> det_cases() {
  // clang-format off
  return WithDoubles({
      OpCase("PlumbDet", "two").In({2, 2}, {0, 1, 2, 3}).Out({-2}).OutShape({}),
      OpCase("PlumbDet", "batch").In({3, 2, 2}, {1, 2, 3, 4, 1, 2, 2, 1, 1, 3, 3, 1}).Out({-2, -3, -8}).OutShape({3}),
      OpCase("PlumbDet", "three").In({3, 3}, {2, 0, 1, 1, 3, 2, 1, 1, 4}).Out({18}),
      OpCase("PlumbDet", "singular").In({2, 2}, {1, 2, 2, 4}).Out({0}),
      OpCase("PlumbDet", "none").In({2, 0, 0}).Out({1, 1}),
      OpCase("PlumbDet", "large").In({2, 17, 17}),
      OpCase("PlumbDet", "not_square").In({2, 3}).Refused("expects square matrices, found [2,3]"),
  });
  // clang-format on
}

}  // namespace plumb
