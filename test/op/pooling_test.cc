// SPDX-License-Identifier: Apache-2.0
#include "util/op_dtypes.h"

namespace plumb {

// Pooling: type kernel(h w) stride(h w) pad(h w) kernel_index(h w) pad_type ceil adaptive out(h w)
// PlumbAveragePool: kernel(h w) stride(h w) pad(top bottom left right) ceil count_include_pad
std::vector<OpCase> pooling_cases() {
  const std::vector<double> one_to_nine = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  return WithDoubles({
      OpCase("Pooling", "max_2x2", "kernel=2 stride=2").In({1, 1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}).Out({6, 8}),
      OpCase("Pooling", "max_padding_never_wins", "kernel=3 stride=2 pad=1")
          .In({1, 1, 3, 3}, {-1, -2, -3, -4, -5, -6, -7, -8, -9})
          .Out({-1, -2, -4, -5}),
      OpCase("Pooling", "average_floor", "pool_type=1 kernel=2 stride=2").In({1, 1, 3, 3}, one_to_nine).Out({3}),
      OpCase("Pooling", "average_ceil_counts_valid_pixels", "pool_type=1 kernel=2 stride=2 ceil_mode")
          .In({1, 1, 3, 3}, one_to_nine)
          .Out({3, 4.5, 7.5, 9}),
      OpCase("Pooling", "average_pads_not_counted", "pool_type=1 kernel=3 stride=2 pad=1")
          .In({1, 1, 3, 3}, one_to_nine)
          .Out({3, 4, 6, 7}),
      // As large as the input and yet not all of it: the window starts in the padding.
      OpCase("Pooling", "average_shifted", "pool_type=1 kernel=3 stride=5 pad=1")
          .In({1, 1, 3, 3}, one_to_nine)
          .Out({3}),
      OpCase("Pooling", "average_same", "pool_type=1 kernel=2 stride=2 pad_type=0")
          .In({1, 1, 3, 3}, one_to_nine)
          .Out({3, 4.5, 7.5, 9}),
      OpCase("Pooling", "average_global", "pool_type=1 pad_type=0").In({1, 2, 1, 2}, {1, 2, 3, 5}).Out({1.5, 4}),
      OpCase("Pooling", "max_global", "pad_type=0").In({2, 1, 1, 2}, {1, 2, 5, 3}).Out({2, 5}),
      OpCase("Pooling", "adaptive_average", "pool_type=1 is_adaptive out=2")
          .In({1, 1, 3, 3}, one_to_nine)
          .Out({3, 4, 6, 7}),
      OpCase("Pooling", "adaptive_max", "is_adaptive out=1x2").In({1, 1, 3, 3}, one_to_nine).Out({8, 9}),
      OpCase("Pooling", "kernel_index", "pool_type=1 kernel_index=2x3 pad_type=1")
          .In({1, 3, 4, 5})
          .OutShape({1, 3, 1, 1}),
      OpCase("Pooling", "max_k3s2p1", "kernel=3 stride=2 pad=1").In({2, 5, 9, 11}).OutShape({2, 5, 5, 6}),
      OpCase("Pooling", "average_k3s1p1", "pool_type=1 kernel=3 pad=1").In({2, 5, 9, 11}).OutShape({2, 5, 9, 11}),
      OpCase("Pooling", "average_1x7", "pool_type=1 kernel=1x7 stride=1x2 pad=0x3 ceil_mode")
          .In({1, 3, 2, 12})
          .OutShape({1, 3, 2, 7}),
      OpCase("Pooling", "stride3_above_kernel", "pool_type=1 kernel=2 stride=3")
          .In({1, 4, 8, 11})
          .OutShape({1, 4, 3, 4}),
      // Windows larger than 65,535: what lavapipe's loops turn in one invocation (device/vulkan/loop_rounds.h).
      OpCase("Pooling", "average_beyond_65535", "pool_type=1 pad_type=0").In({1, 2, 300, 301}),
      OpCase("Pooling", "max_beyond_65535", "kernel=300x280 stride=2x3 pad=5x7").In({1, 2, 301, 290}),
      OpCase("Pooling", "average_pads_beyond_65535", "pool_type=1 kernel=300x280 stride=2x3 pad=5x7")
          .In({1, 2, 301, 290}),
      OpCase("Pooling", "adaptive_beyond_65535", "pool_type=1 is_adaptive out=2").In({1, 1, 600, 520}),
      OpCase("PlumbAveragePool", "counted_pads_beyond_65535",
             "kernel=300x280 stride=2x3 pad_top=5 pad_bottom=7 pad_left=6 pad_right=8 ceil_mode")
          .In({1, 1, 301, 290}),
      OpCase("Pooling", "average_constant", "pool_type=1 pad_type=0").In({1, 3, 40, 40}, Regime::kConstant),
      OpCase("Pooling", "average_wide", "pool_type=1 kernel=5 stride=2 pad=2").In({1, 3, 12, 13}, Regime::kWide),
      OpCase("Pooling", "max_specials", "kernel=2").In({1, 3, 6, 7}, Regime::kSpecials),
      OpCase("Pooling", "max_specials_tall", "kernel=3x2 stride=2x1 pad=1x0 ceil_mode")
          .In({1, 3, 12, 7}, Regime::kSpecials),
      OpCase("Pooling", "subnormal", "pool_type=1 kernel=3 pad=1").In({1, 1, 5, 5}, Regime::kSubnormal),
      OpCase("Pooling", "bad_type", "pool_type=2 kernel=2 stride=2 pad_type=0").In({1, 1, 4, 4}).Refused("pool_type 2"),
      OpCase("Pooling", "does_not_fit", "kernel=5").In({1, 1, 4, 4}).Refused("does not fit"),
      OpCase("PlumbAveragePool", "padding_counts", "kernel=3 stride=2 pad_top=1 pad_bottom=1 pad_left=1 pad_right=1")
          .In({1, 1, 3, 3}, one_to_nine)
          .Out({12 / 9., 16 / 9., 24 / 9., 28 / 9.}),
      OpCase("PlumbAveragePool", "padding_does_not_count",
             "kernel=3 stride=2 pad_top=1 pad_bottom=1 pad_left=1 pad_right=1 count_include_pad=0")
          .In({1, 1, 3, 3}, one_to_nine)
          .Out({3, 4, 6, 7}),
      // The last window is cut off behind the end pad: it has 2 of 3 pixels, one of them padding.
      OpCase("PlumbAveragePool", "ceil_counts_up_to_the_end_pad", "kernel=1x3 stride=1x2 pad_right=1 ceil_mode")
          .In({1, 1, 1, 5}, {1, 2, 3, 4, 5})
          .Out({2, 4, 2.5}),
      OpCase("PlumbAveragePool", "asymmetric_pads", "kernel=2 pad_bottom=1 pad_left=1")
          .In({1, 1, 2, 2}, {1, 2, 3, 4})
          .Out({1, 2.5, 0.75, 1.75}),
  });
}

}  // namespace plumb
