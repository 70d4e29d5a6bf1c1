// SPDX-License-Identifier: Apache-2.0
#include "util/op_dtypes.h"

namespace plumb {

std::vector<OpCase> fill_cases() {
  // clang-format off
  std::vector<OpCase> cases = {
      OpCase("ConstantOfShape", "f32").Const({2}, {2, 3}, DType::kI64).Weight("value", {1}, {1.5})
          .Out({1.5, 1.5, 1.5, 1.5, 1.5, 1.5}).OutShape({2, 3}),
      OpCase("ConstantOfShape", "i64_is_known").Const({1}, {3}, DType::kI32).Weight("value", {1}, {-7}, DType::kI64)
          .Out({-7, -7, -7}, 0),
      OpCase("ConstantOfShape", "scalar").Const({0}, Regime::kInts, DType::kI64).Weight("value", {1}, {2}).Out({2})
          .OutShape({}),
      OpCase("ConstantOfShape", "empty").Const({2}, {0, 3}, DType::kI64).Weight("value", {1}, {2}).OutShape({0, 3}),
      OpCase("ConstantOfShape", "drawn_value").Const({1}, {5}, DType::kI64).OutShape({5}),
      OpCase("ConstantOfShape", "large").Const({2}, {300, 300}, DType::kI64).Weight("value", {1}, {1}, DType::kBool)
          .OutShape({300, 300}),
      OpCase("ConstantOfShape", "negative").Const({1}, {-3}, DType::kI64).Weight("value", {1}, {2}).Refused("-3"),
      OpCase("ConstantOfShape", "unknown_shape").In({2}, Regime::kInts, DType::kI64).Weight("value", {1}, {2})
          .Refused("not known before the network runs"),
      OpCase("Range", "f32").Const({}, {1}).Const({}, {2.1}).Const({}, {0.5}).Out({1, 1.5, 2}).OutShape({3}),
      OpCase("Range", "i64_down").Const({}, {5}, DType::kI64).Const({}, {-1}, DType::kI64).Const({}, {-2}, DType::kI64)
          .Out({5, 3, 1}, 0),
      OpCase("Range", "i32").Const({1}, {0}, DType::kI32).Const({1}, {4}, DType::kI32).Const({1}, {1}, DType::kI32)
          .Out({0, 1, 2, 3}, 0),
      OpCase("Range", "nothing").Const({}, {3}).Const({}, {3}).Const({}, {1}).OutShape({0}),
      OpCase("Range", "thousand").Const({}, {-3.3}).Const({}, {1e4}).Const({}, {9.7}).OutShape({1032}),
      OpCase("Range", "no_step").Const({}, {3}).Const({}, {4}).Const({}, {0}).Refused("does not end within"),
      OpCase("Range", "unknown_limit").Const({}, {3}).In({}).Const({}, {1}).Refused("known before the network runs"),
  };
  // clang-format on
  return cases;
}

}  // namespace plumb
