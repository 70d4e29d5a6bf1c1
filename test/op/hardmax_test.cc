// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "util/op_dtypes.h"

namespace plumb {

std::vector<OpCase> hardmax_cases() {
  // clang-format off
  return WithDoubles({
      OpCase("PlumbHardmax", "rows").In({2, 4}, {3, 0, 1, 2, 2, 5, 1, 0}).Out({1, 0, 0, 0, 0, 1, 0, 0}, 0),
      OpCase("PlumbHardmax", "first_of_equals", "axis=1").In({1, 4}, {3, 3, 3, 1}).Out({1, 0, 0, 0}, 0),
      OpCase("PlumbHardmax", "columns", "axis=0").In({2, 2}, {1, 4, 2, 3}).Out({0, 1, 1, 0}, 0),
      OpCase("PlumbHardmax", "nan", "axis=0").In({3}, {1, NAN, INFINITY}).Out({0, 1, 0}, 0),
      OpCase("PlumbHardmax", "middle_axis", "axis=1").In({3, 7, 5}),
      OpCase("PlumbHardmax", "longer_than_a_loop", "axis=0").In({70000, 2}),
      OpCase("PlumbHardmax", "axis_outside", "axis=2").In({2, 2}).Refused("axis 2 is outside"),
  });
  // clang-format on
}

}  // namespace plumb
