// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "util/op_dtypes.h"

namespace plumb {

std::vector<OpCase> upsample_cases() {
  // clang-format off
  std::vector<OpCase> cases = {
      OpCase("Upsample", "nearest_2x", "scale=2").In({1, 1, 2, 2}, {1, 2, 3, 4})
          .Out({1, 1, 2, 2, 1, 1, 2, 2, 3, 3, 4, 4, 3, 3, 4, 4}).OutShape({1, 1, 4, 4}),
      OpCase("Upsample", "nearest_shrinks", "scale=1x0.66").In({1, 1, 1, 3}, {1, 2, 3}).Out({1, 2})
          .OutShape({1, 1, 1, 2}),
      OpCase("Upsample", "nearest_3_to_5", "out=1x5").In({1, 1, 1, 3}, {1, 2, 3}).Out({1, 1, 2, 2, 3}),
      OpCase("Upsample", "nearest_100_to_30", "out=30").In({1, 2, 100, 100}).OutShape({1, 2, 30, 30}),
      OpCase("Upsample", "linear_half_pixel", "mode=2 scale=1x2").In({1, 1, 1, 2}, {0, 4}).Out({0, 1, 3, 4}),
      OpCase("Upsample", "linear_align_corners", "mode=2 align_corners=1 out=1x3").In({1, 1, 1, 2}, {0, 4})
          .Out({0, 2, 4}),
      OpCase("Upsample", "linear_both_axes", "mode=2 align_corners=1 out=3").In({1, 1, 2, 2}, {0, 4, 8, 12})
          .Out({0, 2, 4, 4, 6, 8, 8, 10, 12}),
      OpCase("Upsample", "linear_out_1_takes_the_first", "mode=2 out=1").In({1, 1, 2, 2}, {3, 4, 8, 12}).Out({3}),
      OpCase("Upsample", "linear_align_out_1", "mode=2 align_corners=1 out=1x2").In({1, 1, 3, 2}, {3, 4, 8, 12, 0, 0})
          .Out({3, 4}),
      OpCase("Upsample", "linear_same_size", "mode=2").In({1, 2, 3, 5}).OutShape({1, 2, 3, 5}),
      OpCase("Upsample", "cubic_half_pixel", "mode=3 scale=1x2").In({1, 1, 1, 2}, {0, 4})
          .Out({-0.421875, 0.90625, 3.09375, 4.421875}),
      OpCase("Upsample", "cubic_align_corners", "mode=3 align_corners=1 out=1x7").In({1, 1, 1, 4}, {1, 2, 4, 8})
          .Out({1, 1.3125, 2, 2.71875, 4, 6.1875, 8}),
      OpCase("Upsample", "cubic_out_1", "mode=3 out=1").In({1, 1, 1, 2}, {0, 4}).Out({-0.375}),
      OpCase("Upsample", "linear_odd_sizes", "mode=2 out=11x5").In({2, 3, 7, 13}).OutShape({2, 3, 11, 5}),
      OpCase("Upsample", "cubic_odd_sizes", "mode=3 out=11x5").In({2, 3, 7, 13}).OutShape({2, 3, 11, 5}),
      OpCase("Upsample", "cubic_align_odd_sizes", "mode=3 align_corners=1 out=5x29").In({2, 3, 7, 13})
          .OutShape({2, 3, 5, 29}),
      OpCase("Upsample", "linear_offset", "mode=2 align_corners=1 out=17x19").In({1, 3, 7, 13}, Regime::kOffset),
      OpCase("Upsample", "linear_wide", "mode=2 scale=2").In({1, 3, 7, 13}, Regime::kWide),
      OpCase("Upsample", "cubic_subnormal", "mode=3 scale=2").In({1, 3, 7, 13}, Regime::kSubnormal),
      OpCase("Upsample", "linear_specials", "mode=2 scale=3").In({1, 3, 7, 13}, Regime::kSpecials),
      OpCase("Upsample", "nearest_specials", "scale=3x2").In({1, 3, 7, 13}, Regime::kSpecials),
      OpCase("Upsample", "same_size_copies_infinity", "mode=2 align_corners=1 out=1x3")
          .In({1, 1, 1, 3}, {1, 2, INFINITY}).Out({1, 2, INFINITY}),
      OpCase("Upsample", "every_tap_counts", "mode=2 align_corners=1 out=1x3").In({1, 1, 1, 2}, {1, INFINITY})
          .Out({NAN, NAN, NAN}),
      OpCase("Upsample", "zeros_linear", "mode=2 scale=2").In({1, 2, 3, 3}, Regime::kZeros),
      OpCase("Upsample", "scale_rounds_as_float", "scale=0.7x0.5").In({1, 1, 5, 5}).OutShape({1, 1, 4, 3}),
      OpCase("Upsample", "scales_from_input").In({1, 1, 2, 2}).Const({4}, {1, 1, 2, 3}).OutShape({1, 1, 4, 6}),
      OpCase("Upsample", "scales_behind_roi").In({1, 1, 2, 2}).Const({0}, {}).Const({4}, {1, 1, 2, 3})
          .OutShape({1, 1, 4, 6}),
      OpCase("Upsample", "sizes_from_input").In({1, 1, 2, 2}).Const({0}, {}).Const({0}, {})
          .Const({4}, {1, 1, 5, 3}, DType::kI64).OutShape({1, 1, 5, 3}),
      OpCase("Upsample", "scales_unknown").In({1, 1, 2, 2}).In({4}).Refused("known before the network runs"),
      OpCase("Upsample", "rank_3", "scale=2").In({1, 2, 2}).Refused("must be 4-D, found [1,2,2]"),
      OpCase("Upsample", "unknown_mode", "mode=4 scale=2").In({1, 1, 2, 2}).Refused("mode 4"),
      OpCase("Upsample", "integers_only_nearest", "mode=2 scale=2").In({1, 1, 2, 2}, Regime::kInts, DType::kI32)
          .Refused("only nearest resizes i32"),
      OpCase("Upsample", "to_nothing", "scale=0.1x2").In({1, 1, 2, 2})
          .Refused("cannot resize [1,1,2,2] to height 0 and width 4"),
  };
  // clang-format on
  AddForEveryDType(OpCase("Upsample", "nearest_dtype", "scale=2x1.5").In({2, 3, 2, 4}), &cases);
  return cases;
}

}  // namespace plumb
