#include "util/op_case.h"

#include <cmath>

namespace plumb {

std::vector<OpCase> binary_cases() {
  return {
      OpCase("Add", "values").In({2, 2}, {1, 2, 3, 4}).In({2, 2}, {10, 20, 30, -4}).Out({11, 22, 33, 0}),
      OpCase("Add", "scalar_constant").In({2, 3}, {1, 2, 3, 4, 5, 6}).Weight("element", {1}, {0.5}).Out({1.5, 2.5, 3.5, 4.5, 5.5, 6.5}),
      OpCase("Mul", "channel_constant", "1").In({1, 2, 1, 2}, {1, 2, 3, 4}).Weight("element", {2}, {10, 100}).Out({10, 20, 300, 400}),
      OpCase("Add", "both_ways").In({3, 1, 5}).In({4, 1}).OutShape({3, 4, 5}),
      OpCase("Mul", "rank_5").In({2, 3, 1, 5, 1}).In({4, 1, 3}).OutShape({2, 3, 4, 5, 3}),
      OpCase("Add", "i32_wraps").In({4}, {2147483647, -2147483648.0, 5, 0}, DType::kI32).In({4}, {1, -1, 6, 0}, DType::kI32).Out({-2147483648.0, 2147483647, 11, 0}, 0),
      OpCase("Mul", "i64_extremes").In({5, 7}, Regime::kExtremes, DType::kI64).In({5, 7}, Regime::kExtremes, DType::kI64).Seed(2),
      OpCase("Add", "shapes_differ").In({2, 3}).In({2, 4}).Refused("do not broadcast"),
      OpCase("Add", "dtypes_differ").In({2}).In({2}, Regime::kInts, DType::kI32).Refused("different dtypes"),
      OpCase("Add", "specials").In({40}, Regime::kSpecials).In({40}, Regime::kSpecials).Seed(3),
  };
}

}  // namespace plumb
