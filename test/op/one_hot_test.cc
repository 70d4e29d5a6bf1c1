// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "util/op_dtypes.h"

namespace plumb {

std::vector<OpCase> one_hot_cases() {
  const DType i64 = DType::kI64;
  // clang-format off
  return WithDoubles({
      OpCase("PlumbOneHot", "last_axis").In({3}, {0, -1, 1}, i64).Const({}, std::vector<double>{3}, i64).In({2}, {2, 5})
          .Out({5, 2, 2, 2, 2, 5, 2, 5, 2}, 0).OutShape({3, 3}),
      OpCase("PlumbOneHot", "first_axis", "axis=0").In({2}, {1, 0}).Const({1}, {2}).Const({2}, {0, 1}, DType::kI32)
          .Out({0, 1, 1, 0}, 0),
      OpCase("PlumbOneHot", "middle_axis", "axis=1").In({2, 2}, {1, 7, 2, -9}, i64).Const({1}, {3}, i64).In({2}, {1, 3})
          .Out({1, 1, 3, 1, 1, 1, 1, 1, 1, 1, 3, 1}, 0).OutShape({2, 3, 2}),
      OpCase("PlumbOneHot", "known_value").Const({1}, {1}, i64).Const({1}, {3}, i64).Const({2}, {0, 7}, i64)
          .Out({0, 7, 0}, 0),
      OpCase("OneHot", "parameters", "depth=4").In({2}, {3, 0}, DType::kI32).Out({0, 0, 0, 1, 1, 0, 0, 0}, 0),
      OpCase("PlumbOneHot", "depth_unknown").In({2}, Regime::kZeros, i64).In({1}, Regime::kZeros, i64).In({2})
          .Refused("the depth is not known"),
      OpCase("PlumbOneHot", "three_values").In({2}, Regime::kZeros, i64).Const({1}, {2}, i64).In({3})
          .Refused("the values must be off and on"),
      OpCase("PlumbOneHot", "depth_nan").In({2}, Regime::kZeros, i64).Const({1}, {NAN}).In({2})
          .Refused("depth 0 is not positive"),
      OpCase("OneHot", "no_depth").In({2}, Regime::kZeros, i64).Refused("depth -1 is not positive"),
  });
  // clang-format on
}

}  // namespace plumb
