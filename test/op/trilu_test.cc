#include "util/op_dtypes.h"

namespace plumb {

std::vector<OpCase> trilu_cases() {
  const std::vector<double> twelve = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  // clang-format off
  std::vector<OpCase> cases = {
      OpCase("PlumbTrilu", "upper", "1 0").In({3, 4}, twelve).Out({1, 2, 3, 4, 0, 6, 7, 8, 0, 0, 11, 12}, 0),
      OpCase("PlumbTrilu", "lower", "0 0").In({3, 4}, twelve).Out({1, 0, 0, 0, 5, 6, 0, 0, 9, 10, 11, 0}, 0),
      OpCase("PlumbTrilu", "upper_right", "1 2").In({3, 4}, twelve).Out({0, 0, 3, 4, 0, 0, 0, 8, 0, 0, 0, 0}, 0),
      OpCase("PlumbTrilu", "lower_left", "0 -1").In({3, 4}, twelve, DType::kI64).Out({0, 0, 0, 0, 5, 0, 0, 0, 9, 10, 0, 0}, 0),
      OpCase("PlumbTrilu", "k_input", "1 0").In({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8}).In({}, std::vector<double>{1}, DType::kI64).Out({0, 2, 0, 0, 0, 6, 0, 0}, 0),
      OpCase("PlumbTrilu", "far_outside", "0 10").In({2, 3, 5}),
      OpCase("PlumbTrilu", "empty", "1 0").In({3, 0}).OutShape({3, 0}),
      OpCase("PlumbTrilu", "vector", "1 0").In({3}).Refused("at least 2 dims"),
      OpCase("PlumbEyeLike", "like", "0 like").In({3, 4}).Out({1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0}, 0),
      OpCase("PlumbEyeLike", "above", "1 i64").In({2, 3}).Out({0, 1, 0, 0, 0, 1}, 0),
      OpCase("PlumbEyeLike", "below", "-1 f64").In({3, 2}, Regime::kInts, DType::kI32).Out({0, 0, 1, 0, 0, 1}, 0),
      OpCase("PlumbEyeLike", "cube", "0 like").In({2, 2, 2}).Refused("expects a matrix"),
      OpCase("PlumbEyeLike", "no_dtype", "0 f99").In({2, 2}).Refused("'f99' is no dtype"),
  };
  // clang-format on
  AddForEveryDType(OpCase("PlumbTrilu", "dtype", "1 0").In({3, 5}), &cases);
  return cases;
}

}  // namespace plumb
