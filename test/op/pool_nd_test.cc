#include <cmath>

#include "util/op_case.h"

namespace plumb {

std::vector<OpCase> pool_nd_cases() {
  const DType i64 = DType::kI64;
  const std::vector<double> nine = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  // kernel, strides, pads, dilations, ceil_mode
  // clang-format off
  return {
      OpCase("PlumbMaxPool", "row", "1 2 0 0 0 0 0").Outputs(2).In({1, 1, 4}, {1, 3, 2, NAN}).Out({3, 3, NAN}, 0).Out({1, 1, 3}, 0),
      OpCase("PlumbMaxPool", "plane_pads", "2 2 2 2 2 2 4 1 1 0 0 0 0 0").Outputs(2).In({1, 1, 3, 3}, nine).Out({1, 3, 7, 9}, 0).Out({0, 2, 6, 8}, 0),
      OpCase("PlumbMaxPool", "column_major", "2 2 2 2 1 1 0 0 0 1").Outputs(2).In({1, 2, 2, 2}, {1, 4, 2, 3, 5, 6, 8, 7}).Out({4, 8}, 0).Out({2, 5}, 0).OutShape({1, 2, 1, 1}),
      OpCase("PlumbMaxPool", "dilated", "2 2 2 0 0 2 2 2 0 0").Outputs(2).In({1, 1, 4, 4}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}).Out({11, 12, 15, 16}, 0).Out({10, 11, 14, 15}, 0),
      OpCase("PlumbMaxPool", "ceil", "1 2 1 2 0 0 1 0").Outputs(2).In({1, 1, 3}, {1, 2, 3}, i64).Out({2, 3}, 0).Out({1, 2}, 0),
      OpCase("PlumbMaxPool", "volume", "3 3 2 2 3 2 1 2 6 1 0 0 1 1 0 0 1 0").Outputs(2).In({2, 3, 7, 5, 6}),
      OpCase("PlumbPoolND", "average_row", "1 2 1 1 2 1 0 0 0 average 0 2").In({1, 1, 3}, {2, 4, 6}).Out({2, 3, 5}),
      OpCase("PlumbPoolND", "average_with_pads", "1 2 1 1 2 1 0 0 0 average 1 2").In({1, 1, 3}, {2, 4, 6}).Out({1, 3, 5}),
      OpCase("PlumbPoolND", "average_volume", "3 2 3 2 3 2 2 1 6 1 0 0 0 1 1 0 1 average 1 2").In({1, 3, 6, 7, 5}),
      OpCase("PlumbPoolND", "average_dilated", "2 2 2 0 0 2 2 2 0 average 0 2").In({1, 1, 3, 3}, nine).Out({5}),
      OpCase("PlumbPoolND", "average_offset", "2 16 16 2 8 8 0 0 0 average 0 2").In({1, 2, 64, 48}, Regime::kOffset),
      OpCase("PlumbPoolND", "lp_2", "1 2 1 2 0 0 0 lp 0 2").In({1, 1, 4}, {3, -4, 5, 12}).Out({5, 13}),
      OpCase("PlumbPoolND", "lp_1", "1 3 0 0 0 0 lp 0 1").In({1, 1, 3}, {3, -4, 5}).Out({12}),
      OpCase("PlumbPoolND", "lp_3", "2 3 2 2 2 1 4 1 1 1 0 0 0 lp 0 3").In({2, 3, 7, 8}),
      OpCase("PlumbMaxUnpool", "plain", "2 2 2 2 2 2 0 0 0").In({1, 1, 2, 2}, {1, 2, 3, 4}).In({1, 1, 2, 2}, {5, 7, 13, 15}, i64).Out({0, 0, 0, 0, 0, 1, 0, 2, 0, 0, 0, 0, 0, 3, 0, 4}, 0).OutShape({1, 1, 4, 4}),
      OpCase("PlumbMaxUnpool", "output_shape", "2 2 2 2 2 2 0 0 0").In({1, 1, 2, 2}, {1, 2, 3, 4}).In({1, 1, 2, 2}, {5, 7, 13, 15}, i64).Const({4}, {1, 1, 5, 5}, i64).Out({0, 0, 0, 0, 0, 0, 1, 0, 2, 0, 0, 0, 0, 0, 0, 0, 3, 0, 4, 0, 0, 0, 0, 0, 0}, 0),
      OpCase("PlumbMaxUnpool", "too_small", "1 2 1 2 0 0 0").In({1, 1, 2}).In({1, 1, 2}, Regime::kZeros, i64).Const({3}, {1, 1, 3}, i64).Refused("is smaller than [1,1,4]"),
      OpCase("PlumbMaxUnpool", "indices", "1 2 1 2 0 0 0").In({1, 1, 2}).In({1, 2}, Regime::kZeros, i64).Refused("the indices must be i64 [1,1,2]"),
      OpCase("PlumbMaxPool", "kernel_rank", "1 2 0 0 0 0 0").Outputs(2).In({1, 1, 4, 4}).Refused("do not fit [1,1,4,4]"),
      OpCase("PlumbMaxPool", "too_large", "1 5 0 0 0 0 0").Outputs(2).In({1, 1, 4}).Refused("a window of 5 does not fit dim 2"),
      OpCase("PlumbPoolND", "zero_stride", "1 2 1 0 0 0 0 average 0 2").In({1, 1, 4}).Refused("must be positive"),
      OpCase("PlumbPoolND", "unknown_mode", "1 2 0 0 0 0 median 0 2").In({1, 1, 4}).Refused("expects mode average or lp"),
  };
  // clang-format on
}

}  // namespace plumb
