// SPDX-License-Identifier: Apache-2.0
#include "util/op_dtypes.h"

namespace plumb {

std::vector<OpCase> squeeze_cases() {
  // clang-format off
  std::vector<OpCase> cases = {
      OpCase("Squeeze", "two_axes", "axes=[0,2]").In({1, 3, 1, 2}, {1, 2, 3, 4, 5, 6}).Out({1, 2, 3, 4, 5, 6})
          .OutShape({3, 2}),
      OpCase("Squeeze", "negative_axis", "axes=[-1]").In({3, 1, 1}).OutShape({3, 1}),
      OpCase("Squeeze", "no_axes").In({1, 3, 1}).OutShape({1, 3, 1}),
      OpCase("Squeeze", "to_scalar", "axes=[0]").Const({1}, {42}, DType::kI32).Out({42}).OutShape({}),
      OpCase("Squeeze", "not_one", "axes=[1]").In({1, 3}).Refused("it is 3, not 1"),
      OpCase("Squeeze", "axis_outside", "axes=[2]").In({1, 3}).Refused("axis 2 is outside"),
      OpCase("Squeeze", "axis_twice", "axes=[0,-2]").In({1, 3}).Refused("named twice"),
      OpCase("Unsqueeze", "two_axes", "axes=[0,3]").In({2, 3}, {1, 2, 3, 4, 5, 6}).Out({1, 2, 3, 4, 5, 6})
          .OutShape({1, 2, 3, 1}),
      OpCase("Unsqueeze", "scalar", "axes=[0]").Const({}, {-5}, DType::kI64).Out({-5}).OutShape({1}),
      OpCase("Unsqueeze", "negative_axis", "axes=[-1]").In({2, 3}).OutShape({2, 3, 1}),
      OpCase("Unsqueeze", "empty_blob", "axes=[1]").In({0, 3}).OutShape({0, 1, 3}),
      OpCase("Unsqueeze", "axis_outside", "axes=[3]").In({2, 3}).Refused("axis 3 is outside"),
  };
  // clang-format on
  AddForEveryDType(OpCase("Squeeze", "dtype", "axes=[1]").In({5, 1, 3}), &cases);
  return WithDoubles(std::move(cases));
}

}  // namespace plumb
