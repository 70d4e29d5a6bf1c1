// SPDX-License-Identifier: Apache-2.0
#include "util/op_dtypes.h"

namespace plumb {

std::vector<OpCase> scatter_cases() {
  const DType i64 = DType::kI64;
  const std::vector<double> nine = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  // clang-format off
  std::vector<OpCase> cases = {
      OpCase("ScatterElements", "axis_0").In({3, 3}, Regime::kZeros).In({2, 3}, {1, 0, 2, 0, 2, 1}, i64)
          .In({2, 3}, {1, 1.1, 1.2, 2, 2.1, 2.2}).Out({2, 1.1, 0, 1, 0, 2.2, 0, 2.1, 1.2}),
      OpCase("ScatterElements", "axis_1", "axis=1").In({1, 5}, {1, 2, 3, 4, 5}).In({1, 2}, {1, -2}, i64)
          .In({1, 2}, {1.1, 2.1}).Out({1, 1.1, 3, 2.1, 5}),
      OpCase("ScatterElements", "add", "axis=1 op=1").In({1, 5}, {1, 2, 3, 4, 5}).In({1, 2}, {1, 1}, i64)
          .In({1, 2}, {1.1, 2.1}).Out({1, 5.2, 3, 4, 5}),
      OpCase("PlumbScatterElements", "mul", "reduction=mul").In({3}, {1, 2, 3}).In({2}, {1, 1}, i64).In({2}, {3, -2})
          .Out({1, -12, 3}),
      OpCase("PlumbScatterElements", "max", "reduction=max").In({3}, {1, 2, 3}).In({3}, {1, 0, 1}, i64)
          .In({3}, {3, -2, 9}).Out({1, 9, 3}, 0),
      OpCase("PlumbScatterElements", "min", "reduction=min").In({3}, {1, 2, 3}, i64).In({3}, {1, 0, 1}, i64)
          .In({3}, {3, -2, 1}, i64).Out({-2, 1, 3}, 0),
      OpCase("PlumbScatterElements", "add_many", "axis=1 reduction=add").In({2, 3}).In({2, 3}, {0, 0, 0, 2, 2, 1}, i64)
          .In({2, 3}),
      OpCase("ScatterND", "elements").In({8}, {1, 2, 3, 4, 5, 6, 7, 8}).In({4, 1}, {4, 3, 1, 7}, i64)
          .In({4}, {9, 10, 11, 12}).Out({1, 11, 3, 10, 9, 6, 7, 12}, 0),
      OpCase("ScatterND", "slices").In({3, 3}, nine).In({2, 1}, {0, 2}, i64).In({2, 3}, {5, 5, 5, 1, 1, 1})
          .Out({5, 5, 5, 4, 5, 6, 1, 1, 1}, 0),
      OpCase("ScatterND", "whole").In({2, 2}).In({1, 0}, Regime::kZeros, i64).In({1, 2, 2}, {1, 2, 3, 4})
          .Out({1, 2, 3, 4}, 0),
      OpCase("PlumbScatterND", "add", "reduction=add").In({3, 3}, nine).In({2, 1}, {0, 0}, i64)
          .In({2, 3}, {5, 5, 5, 1, 1, 1}).Out({7, 8, 9, 4, 5, 6, 7, 8, 9}),
      OpCase("PlumbScatterND", "mul_i32", "reduction=mul").In({2}, {3, 4}, DType::kI32).In({2, 1}, {1, 1}, i64)
          .In({2}, {5, -1}, DType::kI32).Out({3, -20}, 0),
      OpCase("PlumbScatterND", "known_value").Const({3}, {1, 2, 3}, i64).Const({1, 1}, {1}, i64).Const({1}, {9}, i64)
          .Out({1, 9, 3}, 0),
      OpCase("PlumbScatterND", "known_sum", "reduction=add").Const({3}, {1, 2, 3}, i64).Const({2, 1}, {1, 1}, i64)
          .Const({2}, {9, 1}, i64).Out({1, 12, 3}, 0),
      OpCase("ScatterElements", "last_update_counts").In({3}, {1, 2, 3}).In({4}, {1, 2, 1, -1}, i64)
          .In({4}, {4, 5, 6, 7}).Out({1, 6, 7}, 0),
      OpCase("ScatterND", "last_slice_counts").In({2, 2}, {1, 2, 3, 4}).In({3, 1}, {1, 0, 1}, DType::kI32)
          .In({3, 2}, {5, 6, 7, 8, 9, 10}).Out({7, 8, 9, 10}, 0),
      OpCase("PlumbScatterND", "add_longer_than_a_loop", "reduction=add").In({5}, Regime::kInts, i64)
          .In({140000, 1}, Regime::kZeros, i64).In({140000}, Regime::kInts, i64),
      OpCase("PlumbScatterND", "unknown_reduction", "reduction=sum").In({3}).In({1, 1}, Regime::kZeros, i64).In({1})
          .Refused("reduction 'sum' is none of"),
      OpCase("ScatterElements", "unknown_op", "op=2").In({3}).In({1}, Regime::kZeros, i64).In({1})
          .Refused("op 2 is not 0"),
      OpCase("ScatterND", "updates_shape").In({3, 3}).In({2, 1}, {0, 2}, i64).In({2, 2})
          .Refused("updates must be [2,3]"),
      OpCase("ScatterElements", "updates_shape").In({3}).In({2}, {0, 1}, i64).In({1})
          .Refused("must have the shape of the indices"),
      OpCase("PlumbScatterND", "bools", "reduction=add").In({2}, Regime::kBools, DType::kBool)
          .In({1, 1}, Regime::kZeros, i64).In({1}, Regime::kBools, DType::kBool).Refused("a reduction of bool"),
      OpCase("ScatterND", "dtypes_differ").In({2}).In({1, 1}, Regime::kZeros, i64).In({1}, Regime::kInts, DType::kI32)
          .Refused("data and updates of one dtype"),
  };
  // clang-format on
  return WithDoubles(std::move(cases));
}

}  // namespace plumb
