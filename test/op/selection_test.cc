// SPDX-License-Identifier: Apache-2.0
#include "util/op_dtypes.h"

namespace plumb {

std::vector<OpCase> selection_cases() {
  const DType i64 = DType::kI64, b = DType::kBool;
  const std::vector<double> boxes = {0, 0,  1, 1,  0, 0.1,  1, 1.1,  0, -0.1, 1, 0.9,
                                     0, 10, 1, 11, 0, 10.1, 1, 11.1, 0, 100,  1, 101};
  const std::vector<double> scores = {0.9, 0.75, 0.6, 0.95, 0.5, 0.3};
  // clang-format off
  std::vector<OpCase> cases = {
      OpCase("PlumbNonZero", "matrix").Const({2, 2}, {1, 0, 1, 1}, b).Out({0, 1, 1, 0, 0, 1}, 0).OutShape({2, 3}),
      OpCase("PlumbNonZero", "floats").Const({4}, {0, 0.5, 0, -2}).Out({1, 3}, 0).OutShape({1, 2}),
      OpCase("PlumbNonZero", "none").Const({3}, {0, 0, 0}, i64).OutShape({1, 0}),
      OpCase("PlumbNonZero", "unknown").In({3}, Regime::kBools, b).Refused("give it as a constant"),
      OpCase("PlumbCompress", "axis_0", "has_axis").In({3, 2}, {1, 2, 3, 4, 5, 6}).Const({3}, {0, 1, 1}, b)
          .Out({3, 4, 5, 6}, 0).OutShape({2, 2}),
      OpCase("PlumbCompress", "axis_1", "has_axis axis=-1").In({3, 2}, {1, 2, 3, 4, 5, 6}).Const({2}, {0, 1}, b)
          .Out({2, 4, 6}, 0).OutShape({3, 1}),
      OpCase("PlumbCompress", "flattened").In({3, 2}, {1, 2, 3, 4, 5, 6}).Const({5}, {0, 1, 0, 0, 1}, b).Out({2, 5}, 0)
          .OutShape({2}),
      OpCase("PlumbCompress", "too_long", "has_axis").In({2}).Const({3}, {0, 0, 1}, b)
          .Refused("is longer than the 2 slices"),
      OpCase("PlumbCompress", "unknown", "has_axis").In({2}).In({2}, Regime::kBools, b)
          .Refused("depends on the condition [2]"),
      OpCase("PlumbUnique", "sorted").Outputs(4).Const({6}, {2, 1, 1, 3, 4, 3}).Out({1, 2, 3, 4}, 0)
          .Out({1, 0, 3, 4}, 0).Out({1, 0, 0, 2, 3, 2}, 0).Out({2, 1, 2, 1}, 0),
      OpCase("PlumbUnique", "in_order", "sorted=0").Outputs(4).Const({6}, {2, 1, 1, 3, 4, 3}, i64).Out({2, 1, 3, 4}, 0)
          .Out({0, 1, 3, 4}, 0).Out({0, 1, 1, 2, 3, 2}, 0).Out({1, 2, 2, 1}, 0),
      OpCase("PlumbUnique", "rows", "has_axis").Outputs(4).Const({3, 3}, {1, 0, 0, 1, 0, 0, 2, 3, 4})
          .Out({1, 0, 0, 2, 3, 4}, 0).OutShape({2, 3}).Out({0, 2}, 0).Out({0, 0, 1}, 0).Out({2, 1}, 0),
      OpCase("PlumbNonMaxSuppression", "corners").Const({1, 6, 4}, boxes).Const({1, 1, 6}, scores).Const({1}, {3}, i64)
          .Const({1}, {0.5}).Const({1}, {0}).Out({0, 0, 3, 0, 0, 0, 0, 0, 5}, 0).OutShape({3, 3}),
      OpCase("PlumbNonMaxSuppression", "score_threshold").Const({1, 6, 4}, boxes).Const({1, 1, 6}, scores)
          .Const({1}, {3}, i64).Const({1}, {0.5}).Const({1}, {0.4}).Out({0, 0, 3, 0, 0, 0}, 0),
      OpCase("PlumbNonMaxSuppression", "center_two_classes", "center_point_box")
          .Const({1, 2, 4}, {0.5, 0.5, 1, 1, 0.5, 0.6, 1, 1}).Const({1, 2, 2}, {0.5, 0.9, 0.8, 0.7})
          .Const({1}, {2}, i64).Const({1}, {0.5}).Out({0, 0, 1, 0, 1, 0}, 0),
      OpCase("PlumbNonMaxSuppression", "no_limit_given").Const({1, 6, 4}, boxes).Const({1, 1, 6}, scores)
          .OutShape({0, 3}),
      OpCase("PlumbNonMaxSuppression", "shapes").Const({1, 6, 4}, boxes).Const({1, 6}, scores)
          .Refused("expects boxes [batch, boxes, 4]"),
      OpCase("PlumbNonMaxSuppression", "unknown").In({1, 6, 4}).In({1, 1, 6}).Refused("depends on the boxes"),
  };
  // clang-format on
  AddForEveryDType(OpCase("PlumbCompress", "dtype", "has_axis axis=1").In({3, 4}).Const({4}, {1, 0, 1, 1}, b), &cases);
  return cases;
}

}  // namespace plumb
