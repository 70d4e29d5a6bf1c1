#include "util/op_case.h"

namespace plumb {

// Pooling: type kernel(h w) stride(h w) pad(h w) kernel_index(h w) pad_type ceil adaptive out(h w)
// PlumbAveragePool: kernel(h w) stride(h w) pad(top bottom left right) ceil count_include_pad
std::vector<OpCase> pooling_cases() {
  const std::vector<double> one_to_nine = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  return {
      OpCase("Pooling", "max_2x2", "0 2 2 2 2 0 0 -1 -1 -1 0 0 0 0")
          .In({1, 1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8})
          .Out({6, 8}),
      OpCase("Pooling", "max_padding_never_wins", "0 3 3 2 2 1 1 -1 -1 -1 0 0 0 0")
          .In({1, 1, 3, 3}, {-1, -2, -3, -4, -5, -6, -7, -8, -9})
          .Out({-1, -2, -4, -5}),
      OpCase("Pooling", "average_floor", "1 2 2 2 2 0 0 -1 -1 -1 0 0 0 0").In({1, 1, 3, 3}, one_to_nine).Out({3}),
      OpCase("Pooling", "average_ceil_counts_valid_pixels", "1 2 2 2 2 0 0 -1 -1 -1 1 0 0 0")
          .In({1, 1, 3, 3}, one_to_nine)
          .Out({3, 4.5, 7.5, 9}),
      OpCase("Pooling", "average_pads_not_counted", "1 3 3 2 2 1 1 -1 -1 -1 0 0 0 0")
          .In({1, 1, 3, 3}, one_to_nine)
          .Out({3, 4, 6, 7}),
      // As large as the input and yet not all of it: the window starts in the padding.
      OpCase("Pooling", "average_shifted", "1 3 3 5 5 1 1 -1 -1 -1 0 0 0 0").In({1, 1, 3, 3}, one_to_nine).Out({3}),
      OpCase("Pooling", "average_same", "1 2 2 2 2 0 0 -1 -1 0 0 0 0 0")
          .In({1, 1, 3, 3}, one_to_nine)
          .Out({3, 4.5, 7.5, 9}),
      OpCase("Pooling", "average_global", "1 0 0 1 1 0 0").In({1, 2, 1, 2}, {1, 2, 3, 5}).Out({1.5, 4}),
      OpCase("Pooling", "max_global", "0 0 0 1 1 0 0").In({2, 1, 1, 2}, {1, 2, 5, 3}).Out({2, 5}),
      OpCase("Pooling", "adaptive_average", "1 0 0 1 1 0 0 -1 -1 -1 0 1 2 2")
          .In({1, 1, 3, 3}, one_to_nine)
          .Out({3, 4, 6, 7}),
      OpCase("Pooling", "adaptive_max", "0 0 0 1 1 0 0 -1 -1 -1 0 1 1 2").In({1, 1, 3, 3}, one_to_nine).Out({8, 9}),
      OpCase("Pooling", "kernel_index", "1 0 0 1 1 0 0 2 3 1 0 0 0 0").In({1, 3, 4, 5}).OutShape({1, 3, 1, 1}),
      OpCase("Pooling", "max_k3s2p1", "0 3 3 2 2 1 1 -1 -1 -1 0 0 0 0").In({2, 5, 9, 11}).OutShape({2, 5, 5, 6}),
      OpCase("Pooling", "average_k3s1p1", "1 3 3 1 1 1 1 -1 -1 -1 0 0 0 0").In({2, 5, 9, 11}).OutShape({2, 5, 9, 11}),
      OpCase("Pooling", "average_1x7", "1 1 7 1 2 0 3 -1 -1 -1 1 0 0 0").In({1, 3, 2, 12}).OutShape({1, 3, 2, 7}),
      OpCase("Pooling", "stride3_above_kernel", "1 2 2 3 3 0 0 -1 -1 -1 0 0 0 0")
          .In({1, 4, 8, 11})
          .OutShape({1, 4, 3, 4}),
      // Windows larger than 65,535: what lavapipe's loops turn in one invocation (device/vulkan/loop_rounds.h).
      OpCase("Pooling", "average_beyond_65535", "1 0 0 1 1 0 0").In({1, 2, 300, 301}),
      OpCase("Pooling", "max_beyond_65535", "0 300 280 2 3 5 7 -1 -1 -1 0 0 0 0").In({1, 2, 301, 290}),
      OpCase("Pooling", "average_pads_beyond_65535", "1 300 280 2 3 5 7 -1 -1 -1 0 0 0 0").In({1, 2, 301, 290}),
      OpCase("Pooling", "adaptive_beyond_65535", "1 0 0 1 1 0 0 -1 -1 -1 0 1 2 2").In({1, 1, 600, 520}),
      OpCase("PlumbAveragePool", "counted_pads_beyond_65535", "300 280 2 3 5 7 6 8 1 1").In({1, 1, 301, 290}),
      OpCase("Pooling", "average_constant", "1 0 0 1 1 0 0").In({1, 3, 40, 40}, Regime::kConstant),
      OpCase("Pooling", "average_wide", "1 5 5 2 2 2 2 -1 -1 -1 0 0 0 0").In({1, 3, 12, 13}, Regime::kWide),
      OpCase("Pooling", "max_specials", "0 2 2 1 1 0 0 -1 -1 -1 0 0 0 0").In({1, 3, 6, 7}, Regime::kSpecials),
      OpCase("Pooling", "max_specials_tall", "0 3 2 2 1 1 0 -1 -1 -1 1 0 0 0").In({1, 3, 12, 7}, Regime::kSpecials),
      OpCase("Pooling", "subnormal", "1 3 3 1 1 1 1 -1 -1 -1 0 0 0 0").In({1, 1, 5, 5}, Regime::kSubnormal),
      OpCase("Pooling", "bad_type", "2 2 2 2 2 0 0").In({1, 1, 4, 4}).Refused("pool_type 2"),
      OpCase("Pooling", "does_not_fit", "0 5 5 1 1 0 0 -1 -1 -1 0 0 0 0").In({1, 1, 4, 4}).Refused("does not fit"),
      OpCase("PlumbAveragePool", "padding_counts", "3 3 2 2 1 1 1 1 0 1")
          .In({1, 1, 3, 3}, one_to_nine)
          .Out({12 / 9., 16 / 9., 24 / 9., 28 / 9.}),
      OpCase("PlumbAveragePool", "padding_does_not_count", "3 3 2 2 1 1 1 1 0 0")
          .In({1, 1, 3, 3}, one_to_nine)
          .Out({3, 4, 6, 7}),
      // The last window is cut off behind the end pad: it has 2 of 3 pixels, one of them padding.
      OpCase("PlumbAveragePool", "ceil_counts_up_to_the_end_pad", "1 3 1 2 0 0 0 1 1 1")
          .In({1, 1, 1, 5}, {1, 2, 3, 4, 5})
          .Out({2, 4, 2.5}),
      OpCase("PlumbAveragePool", "asymmetric_pads", "2 2 1 1 0 1 1 0 0 1")
          .In({1, 1, 2, 2}, {1, 2, 3, 4})
          .Out({1, 2.5, 0.75, 1.75}),
  };
}

}  // namespace plumb
