// SPDX-License-Identifier: Apache-2.0
#include "util/op_dtypes.h"

namespace plumb {

std::vector<OpCase> gather_cases() {
  // clang-format off
  std::vector<OpCase> cases = {
      OpCase("Gather", "rows_from_inputs", "indices_in_resource=0").In({3, 2}, {1, 2, 3, 4, 5, 6})
          .In({2}, {2, 0}, DType::kI32).Out({5, 6, 1, 2}).OutShape({2, 2}),
      OpCase("Gather", "indices_resource", "axis=1").In({2, 3}, {1, 2, 3, 4, 5, 6})
          .Weight("indices", {2}, {2, 1}, DType::kI32).Out({3, 2, 6, 5}).OutShape({2, 2}),
      OpCase("Gather", "data_resource", "data_in_resource indices_in_resource=0").In({1, 2}, {1, -1}, DType::kI64)
          .Weight("data", {3, 2}, {1, 2, 3, 4, 5, 6}).Out({3, 4, 5, 6}).OutShape({1, 2, 2}),
      OpCase("Gather", "scalar_index", "axis=1").In({2, 3}, {1, 2, 3, 4, 5, 6}).Weight("indices", {}, {1}, DType::kI32)
          .Out({2, 5}).OutShape({2}),
      OpCase("Gather", "negative_axis", "axis=-1 indices_in_resource=0").In({2, 2, 3})
          .In({2, 2}, {0, 1, 2, -3}, DType::kI64).OutShape({2, 2, 2, 2}),
      OpCase("Gather", "rank_6", "axis=3 indices_in_resource=0").In({2, 1, 3, 4, 2, 2}).In({3}, {3, 0, 3}, DType::kI64)
          .OutShape({2, 1, 3, 3, 2, 2}),
      OpCase("Gather", "no_indices", "indices_in_resource=0").In({3, 2}).Const({0}, Regime::kInts, DType::kI64)
          .OutShape({0, 2}),
      OpCase("Gather", "known_value", "indices_in_resource=0").Const({4}, {1, 3, 224, 225}, DType::kI32)
          .Const({}, {2}, DType::kI64).Out({224}).OutShape({}),
      OpCase("Gather", "known_index_outside", "indices_in_resource=0").Const({4}, {1, 3, 224, 225}, DType::kI32)
          .Const({}, {4}, DType::kI64).Refused("index 4 at position 0 is outside a dim of 4"),
      OpCase("Gather", "float_indices", "indices_in_resource=0").In({4}).In({1})
          .Refused("indices must be integers, found f32"),
      OpCase("Gather", "default_flags").In({4}).In({1}, Regime::kInts, DType::kI32)
          .Weight("indices", {1}, {0}, DType::kI32).Refused("leave 1 inputs, found 2"),
      OpCase("Gather", "data_missing", "data_in_resource indices_in_resource=0").In({1}, {0}, DType::kI32)
          .Refused("only a tnnmodel says"),
      OpCase("Gather", "axis_outside", "axis=2 indices_in_resource=0").In({4, 1}).In({1}, {0}, DType::kI32)
          .Refused("axis 2 is outside"),
      OpCase("GatherND", "elements").In({2, 2}, {1, 2, 3, 4}).In({2, 2}, {0, 0, 1, 1}, DType::kI64).Out({1, 4})
          .OutShape({2}),
      OpCase("GatherND", "rows").In({2, 2}, {1, 2, 3, 4}).In({2, 1}, {1, 0}, DType::kI64).Out({3, 4, 1, 2})
          .OutShape({2, 2}),
      OpCase("GatherND", "batch_dims", "batch_dims=1").In({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8})
          .In({2, 1}, {1, 0}, DType::kI64).Out({3, 4, 5, 6}).OutShape({2, 2}),
      OpCase("GatherND", "negative_index").In({3}, {1, 2, 3}).In({1, 1}, {-1}, DType::kI32).Out({3}),
      OpCase("GatherND", "whole_data").In({2, 2}, {1, 2, 3, 4}).In({2, 0}, Regime::kInts, DType::kI64)
          .Out({1, 2, 3, 4, 1, 2, 3, 4}).OutShape({2, 2, 2}),
      OpCase("GatherND", "vectors_too_long").In({2, 2}).In({1, 3}, {0, 0, 0}, DType::kI64)
          .Refused("index vectors of length 3"),
      OpCase("GatherND", "batch_differs", "batch_dims=1").In({3, 2}).In({2, 1}, {0, 0}, DType::kI64)
          .Refused("differ in batch dim 0"),
  };
  // clang-format on
  AddForEveryDType(
      OpCase("Gather", "dtype", "axis=1").In({3, 4, 2}).Weight("indices", {5}, {3, 0, 1, 1, 2}, DType::kI32), &cases);
  return WithDoubles(std::move(cases));
}

}  // namespace plumb
