// SPDX-License-Identifier: Apache-2.0
#include "util/op_dtypes.h"

namespace plumb {

std::vector<OpCase> trilu_cases() {
  const std::vector<double> twelve = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  // clang-format off
  std::vector<OpCase> cases = {
      OpCase("PlumbTrilu", "upper").In({3, 4}, twelve).Out({1, 2, 3, 4, 0, 6, 7, 8, 0, 0, 11, 12}, 0),
      OpCase("PlumbTrilu", "lower", "upper=0").In({3, 4}, twelve).Out({1, 0, 0, 0, 5, 6, 0, 0, 9, 10, 11, 0}, 0),
      OpCase("PlumbTrilu", "upper_right", "k=2").In({3, 4}, twelve).Out({0, 0, 3, 4, 0, 0, 0, 8, 0, 0, 0, 0}, 0),
      OpCase("PlumbTrilu", "lower_left", "upper=0 k=-1").In({3, 4}, twelve, DType::kI64)
          .Out({0, 0, 0, 0, 5, 0, 0, 0, 9, 10, 0, 0}, 0),
      OpCase("PlumbTrilu", "k_input").In({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8})
          .In({}, std::vector<double>{1}, DType::kI64).Out({0, 2, 0, 0, 0, 6, 0, 0}, 0),
      OpCase("PlumbTrilu", "far_outside", "upper=0 k=10").In({2, 3, 5}),
      OpCase("PlumbTrilu", "empty").In({3, 0}).OutShape({3, 0}),
      OpCase("PlumbTrilu", "vector").In({3}).Refused("at least 2 dims"),
      OpCase("PlumbEyeLike", "like").In({3, 4}).Out({1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0}, 0),
      OpCase("PlumbEyeLike", "above", "k=1 dtype=i64").In({2, 3}).Out({0, 1, 0, 0, 0, 1}, 0),
      OpCase("PlumbEyeLike", "below", "k=-1 dtype=f64").In({3, 2}, Regime::kInts, DType::kI32)
          .Out({0, 0, 1, 0, 0, 1}, 0),
      OpCase("PlumbEyeLike", "cube").In({2, 2, 2}).Refused("expects a matrix"),
      OpCase("PlumbEyeLike", "no_dtype", "dtype=f99").In({2, 2}).Refused("'f99' is no dtype"),
  };
  // clang-format on
  AddForEveryDType(OpCase("PlumbTrilu", "dtype").In({3, 5}), &cases);
  return cases;
}

}  // namespace plumb
