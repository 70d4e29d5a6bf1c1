// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "util/op_dtypes.h"

namespace plumb {

std::vector<OpCase> compare_cases() {
  // clang-format off
  std::vector<OpCase> cases = {
      OpCase("Equal", "values").In({3}, {1, 2, NAN}).In({3}, {1, 3, NAN}).Out({1, 0, 0}, 0).OutShape({3}),
      OpCase("Equal", "broadcast").In({2, 1}, {1, 2}, DType::kI32).In({1, 3}, {1, 2, 3}, DType::kI32)
          .Out({1, 0, 0, 0, 1, 0}, 0).OutShape({2, 3}),
      OpCase("Equal", "i64_extremes").In({5, 9}, Regime::kExtremes, DType::kI64)
          .In({9}, Regime::kExtremes, DType::kI64),
      OpCase("Equal", "bools").In({4}, {0, 0, 1, 1}, DType::kBool).In({4}, {0, 1, 0, 1}, DType::kBool)
          .Out({1, 0, 0, 1}, 0),
      OpCase("Equal", "known_value").Const({3}, {1, -1, 2}, DType::kI64).Const({1}, {-1}, DType::kI64)
          .Out({0, 1, 0}, 0),
      OpCase("Greater", "values").In({4}, {1, 2, 3, INFINITY}).In({4}, {2, 2, 2, 1}).Out({0, 0, 1, 1}, 0),
      OpCase("Greater", "constant_first", "weight_input_index=0").In({3}, {1, 2, 3}).Weight("element", {1}, {2})
          .Out({1, 0, 0}, 0),
      OpCase("Greater", "specials").In({7, 11}, Regime::kSpecials).In({7, 11}, Regime::kSpecials).Seed(4),
      OpCase("Less", "values").In({3}, {1, 2, 3}).In({3}, {2, 2, 2}).Out({1, 0, 0}, 0),
      OpCase("Less", "constant_per_channel").In({1, 2, 1, 2}, {1, 2, 3, 4}).Weight("element", {2}, {2, 4})
          .Out({1, 0, 1, 0}, 0),
      OpCase("Less", "rank_6").In({2, 1, 3, 1, 2, 3}).In({3, 4, 1, 3}),
      OpCase("Less", "empty_blob").In({0, 3}).In({3}).OutShape({0, 3}),
      OpCase("And", "bools").In({4}, {0, 0, 1, 1}, DType::kBool).In({4}, {0, 1, 0, 1}, DType::kBool)
          .Out({0, 0, 0, 1}, 0),
      OpCase("And", "integers").In({3}, {0, 5, -1}, DType::kI32).In({3}, {1, 2, 0}, DType::kI32).Out({0, 1, 0}, 0),
      OpCase("PlumbGreaterOrEqual", "values").In({4}, {1, 2, 3, NAN}).In({4}, {2, 2, 2, 1}).Out({0, 1, 1, 0}, 0),
      OpCase("PlumbLessOrEqual", "values").In({4}, {1, 2, 3, NAN}).In({4}, {2, 2, 2, 1}).Out({1, 1, 0, 0}, 0),
      OpCase("PlumbLessOrEqual", "broadcast_i64").In({2, 1, 3}, Regime::kExtremes, DType::kI64)
          .In({4, 1}, Regime::kExtremes, DType::kI64),
      OpCase("PlumbOr", "bools").In({4}, {0, 0, 1, 1}, DType::kBool).In({4}, {0, 1, 0, 1}, DType::kBool)
          .Out({0, 1, 1, 1}, 0),
      OpCase("PlumbXor", "bools").In({4}, {0, 0, 1, 1}, DType::kBool).In({4}, {0, 1, 0, 1}, DType::kBool)
          .Out({0, 1, 1, 0}, 0),
      OpCase("PlumbXor", "known_value").Const({2}, {0, 1}, DType::kBool).Const({2}, {1, 1}, DType::kBool)
          .Out({1, 0}, 0),
      OpCase("Not", "bools").In({2}, {0, 1}, DType::kBool).Out({1, 0}, 0),
      OpCase("Not", "integers").In({3}, {0, 7, -1}, DType::kI64).Out({1, 0, 0}, 0),
      OpCase("Not", "known_value").Const({2}, {0, 1}, DType::kBool).Out({1, 0}, 0),
      OpCase("Not", "float").In({2}).Refused("expects bool or integers, found f32"),
      OpCase("Equal", "dtypes_differ").In({2}).In({2}, Regime::kInts, DType::kI32).Refused("different dtypes"),
      OpCase("Greater", "shapes_differ").In({2}).In({3}).Refused("do not broadcast"),
      OpCase("Less", "index_outside", "weight_input_index=2").In({2}).Weight("element", {1}, {1})
          .Refused("weight_input_index 2"),
  };
  // clang-format on
  return WithDoubles(std::move(cases));
}

}  // namespace plumb
