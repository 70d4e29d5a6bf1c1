// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "util/op_dtypes.h"

namespace plumb {

std::vector<OpCase> pool_nd_cases() {
  const DType i64 = DType::kI64;
  const std::vector<double> nine = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  // kernel, strides, pads, dilations, ceil_mode
  // clang-format off
  return WithDoubles({
      OpCase("PlumbMaxPool", "row", "kernel=[2]").Outputs(2).In({1, 1, 4}, {1, 3, 2, NAN}).Out({3, 3, NAN}, 0)
          .Out({1, 1, 3}, 0),
      OpCase("PlumbMaxPool", "plane_pads", "kernel=[2,2] strides=[2,2] pads=[1,1,0,0]").Outputs(2)
          .In({1, 1, 3, 3}, nine).Out({1, 3, 7, 9}, 0).Out({0, 2, 6, 8}, 0),
      OpCase("PlumbMaxPool", "column_major", "kernel=[2,2] strides=[1,1] column_major").Outputs(2)
          .In({1, 2, 2, 2}, {1, 4, 2, 3, 5, 6, 8, 7}).Out({4, 8}, 0).Out({2, 5}, 0).OutShape({1, 2, 1, 1}),
      OpCase("PlumbMaxPool", "dilated", "kernel=[2,2] dilations=[2,2]").Outputs(2)
          .In({1, 1, 4, 4}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}).Out({11, 12, 15, 16}, 0)
          .Out({10, 11, 14, 15}, 0),
      OpCase("PlumbMaxPool", "ceil", "kernel=[2] strides=[2] ceil_mode").Outputs(2).In({1, 1, 3}, {1, 2, 3}, i64)
          .Out({2, 3}, 0).Out({1, 2}, 0),
      OpCase("PlumbMaxPool", "volume", "kernel=[3,2,2] strides=[2,1,2] pads=[1,0,0,1,1,0] ceil_mode").Outputs(2)
          .In({2, 3, 7, 5, 6}),
      OpCase("PlumbPoolND", "average_row", "kernel=[2] strides=[1] pads=[1,0]").In({1, 1, 3}, {2, 4, 6}).Out({2, 3, 5}),
      OpCase("PlumbPoolND", "average_with_pads", "kernel=[2] strides=[1] pads=[1,0] count_include_pad")
          .In({1, 1, 3}, {2, 4, 6}).Out({1, 3, 5}),
      OpCase("PlumbPoolND", "average_volume",
          "kernel=[2,3,2] strides=[2,2,1] pads=[1,0,0,0,1,1] ceil_mode count_include_pad").In({1, 3, 6, 7, 5}),
      OpCase("PlumbPoolND", "average_dilated", "kernel=[2,2] dilations=[2,2]").In({1, 1, 3, 3}, nine).Out({5}),
      OpCase("PlumbPoolND", "average_offset", "kernel=[16,16] strides=[8,8]").In({1, 2, 64, 48}, Regime::kOffset),
      OpCase("PlumbPoolND", "lp_2", "kernel=[2] strides=[2] mode=lp").In({1, 1, 4}, {3, -4, 5, 12}).Out({5, 13}),
      OpCase("PlumbPoolND", "lp_1", "kernel=[3] mode=lp p=1").In({1, 1, 3}, {3, -4, 5}).Out({12}),
      OpCase("PlumbPoolND", "lp_3", "kernel=[3,2] strides=[2,1] pads=[1,1,1,0] mode=lp p=3").In({2, 3, 7, 8}),
      OpCase("PlumbMaxUnpool", "plain", "kernel=[2,2] strides=[2,2]").In({1, 1, 2, 2}, {1, 2, 3, 4})
          .In({1, 1, 2, 2}, {5, 7, 13, 15}, i64).Out({0, 0, 0, 0, 0, 1, 0, 2, 0, 0, 0, 0, 0, 3, 0, 4}, 0)
          .OutShape({1, 1, 4, 4}),
      OpCase("PlumbMaxUnpool", "output_shape", "kernel=[2,2] strides=[2,2]").In({1, 1, 2, 2}, {1, 2, 3, 4})
          .In({1, 1, 2, 2}, {5, 7, 13, 15}, i64).Const({4}, {1, 1, 5, 5}, i64)
          .Out({0, 0, 0, 0, 0, 0, 1, 0, 2, 0, 0, 0, 0, 0, 0, 0, 3, 0, 4, 0, 0, 0, 0, 0, 0}, 0),
      OpCase("PlumbMaxUnpool", "too_small", "kernel=[2] strides=[2]").In({1, 1, 2}).In({1, 1, 2}, Regime::kZeros, i64)
          .Const({3}, {1, 1, 3}, i64).Refused("is smaller than [1,1,4]"),
      OpCase("PlumbMaxUnpool", "indices", "kernel=[2] strides=[2]").In({1, 1, 2}).In({1, 2}, Regime::kZeros, i64)
          .Refused("the indices must be i64 [1,1,2]"),
      OpCase("PlumbMaxPool", "kernel_rank", "kernel=[2]").Outputs(2).In({1, 1, 4, 4}).Refused("do not fit [1,1,4,4]"),
      OpCase("PlumbMaxPool", "too_large", "kernel=[5]").Outputs(2).In({1, 1, 4})
          .Refused("a window of 5 does not fit dim 2"),
      OpCase("PlumbPoolND", "zero_stride", "kernel=[2] strides=[0]").In({1, 1, 4}).Refused("must be positive"),
      OpCase("PlumbPoolND", "unknown_mode", "kernel=[2] mode=median").In({1, 1, 4})
          .Refused("expects mode average or lp"),
  });
  // clang-format on
}

}  // namespace plumb
