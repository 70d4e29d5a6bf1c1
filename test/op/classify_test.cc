// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "util/op_dtypes.h"

namespace plumb {

std::vector<OpCase> classify_cases() {
  const std::vector<double> mixed = {1, NAN, INFINITY, -INFINITY, 0};
  // clang-format off
  return WithDoubles({
      OpCase("PlumbIsNaN", "values").In({5}, mixed).Out({0, 1, 0, 0, 0}, 0).OutShape({5}),
      OpCase("PlumbIsNaN", "specials").In({3, 5, 7}, Regime::kSpecials),
      OpCase("PlumbIsInf", "both").In({5}, mixed).Out({0, 0, 1, 1, 0}, 0),
      OpCase("PlumbIsInf", "negative", "detect_positive=0").In({5}, mixed).Out({0, 0, 0, 1, 0}, 0),
      OpCase("PlumbIsInf", "positive", "detect_negative=0").In({5}, mixed).Out({0, 0, 1, 0, 0}, 0),
      OpCase("PlumbIsInf", "empty_blob").In({0, 2}).OutShape({0, 2}),
      OpCase("PlumbIsNaN", "integers").In({2}, Regime::kInts, DType::kI32).Refused("expects a float blob, found i32"),
  });
  // clang-format on
}

}  // namespace plumb
