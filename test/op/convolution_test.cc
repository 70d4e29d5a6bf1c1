#include "util/op_case.h"

namespace plumb {

// group in/group out kernel(h w) stride(h w) pad(h w) bias pad_type dilation(h w) activation
std::vector<OpCase> convolution_cases() {
  const auto two_channels = [](const char* name, const char* activation) {
    return OpCase("Convolution", name, std::string("1 2 1 1 1 1 1 0 0 1 -1 1 1 ") + activation)
        .In({1, 2, 1, 2}, {1, 2, 3, 4})
        .Weight("weight", {1, 2, 1, 1}, {10, -5})
        .Weight("bias", {1}, {0.5});
  };
  return {
      two_channels("k1_values", "0").Out({-4.5, 0.5}),
      two_channels("k1_relu", "1").Out({0, 0.5}),
      OpCase("Convolution", "k1_relu6", "1 1 1 1 1 1 1 0 0 0 -1 1 1 2")
          .In({1, 1, 1, 3}, {-1, 2, 3})
          .Weight("weight", {1, 1, 1, 1}, {2.5})
          .Out({0, 5, 6}),
      two_channels("k1_swish", "256").Out({-4.5 / (1 + 90.01713130052181), 0.5 / (1 + 0.6065306597126334)}),
      // The pixel under the centre of a 3x3 kernel, and its right neighbour.
      OpCase("Convolution", "k3_same_values", "1 1 1 3 3 1 1 0 0 0 0 1 1 0")
          .In({1, 1, 2, 3}, {1, 2, 3, 4, 5, 6})
          .Weight("weight", {1, 1, 3, 3}, {0, 0, 0, 0, 10, 1, 0, 0, 0})
          .Out({12, 23, 30, 45, 56, 60}),
      OpCase("Convolution", "same_stride2_odd_pixel_at_the_end", "1 1 1 2 2 2 2 0 0 0 0 1 1 0")
          .In({1, 1, 1, 3}, {1, 2, 3})
          .Weight("weight", {1, 1, 2, 2}, {1, 10, 100, 1000})
          .Out({21, 3}),
      OpCase("Convolution", "dilation_per_axis_values", "1 1 1 2 2 1 1 0 0 0 -1 1 2 0")
          .In({1, 1, 2, 3}, {1, 2, 3, 4, 5, 6})
          .Weight("weight", {1, 1, 2, 2}, {1, 10, 100, 1000})
          .Out({6431}),
      OpCase("Convolution", "groups_values", "2 1 2 1 1 1 1 0 0 0 -1 1 1 0")
          .In({1, 2, 1, 2}, {1, 2, 3, 4})
          .Weight("weight", {2, 1, 1, 1}, {10, 100})
          .Out({10, 20, 300, 400}),
      OpCase("Convolution", "k3s2p1", "1 5 7 3 3 2 2 1 1 1 -1 1 1 0").In({2, 5, 9, 11}).OutShape({2, 7, 5, 6}),
      OpCase("Convolution", "k1x7_same", "1 3 4 1 7 1 1 0 3 1 0 1 1 1").In({1, 3, 5, 9}).OutShape({1, 4, 5, 9}),
      OpCase("Convolution", "k7x1_same", "1 3 4 7 1 1 1 3 0 1 0 1 1 0").In({1, 3, 9, 5}).OutShape({1, 4, 9, 5}),
      OpCase("Convolution", "k3_valid_pads_ignored", "1 2 3 3 3 1 1 1 1 0 1 1 1 0")
          .In({1, 2, 6, 7})
          .OutShape({1, 3, 4, 5}),
      OpCase("Convolution", "stride3_above_kernel", "1 3 5 2 1 3 3 0 0 1 -1 1 1 0")
          .In({3, 3, 11, 13})
          .OutShape({3, 5, 4, 5}),
      OpCase("Convolution", "dilation2x3", "1 2 9 3 3 1 1 2 3 1 -1 2 3 0").In({1, 2, 13, 15}).OutShape({1, 9, 13, 15}),
      OpCase("Convolution", "depthwise_k3s2_same", "6 1 6 3 3 2 2 0 0 1 0 1 1 2")
          .In({2, 6, 9, 10})
          .OutShape({2, 6, 5, 5}),
      OpCase("Convolution", "depthwise_k5", "11 1 11 5 5 1 1 2 2 1 -1 1 1 0").In({2, 11, 9, 7}).OutShape({2, 11, 9, 7}),
      OpCase("Convolution", "depthwise_k3_dilation3x2", "9 1 9 3 3 2 1 3 2 0 -1 3 2 0")
          .In({1, 9, 13, 8})
          .OutShape({1, 9, 7, 8}),
      OpCase("Convolution", "depthwise_stride3_above_kernel", "8 1 8 2 2 3 3 0 0 1 -1 1 1 1")
          .In({1, 8, 17, 8})
          .OutShape({1, 8, 6, 3}),
      OpCase("Convolution", "depthwise_multiplier2", "3 1 6 3 3 1 1 1 1 1 -1 1 1 0")
          .In({1, 3, 7, 6})
          .OutShape({1, 6, 7, 6}),
      OpCase("Convolution", "groups3_odd", "3 3 15 3 3 1 1 1 1 1 -1 1 1 1").In({2, 9, 5, 7}).OutShape({2, 15, 5, 7}),
      OpCase("Convolution", "groups3_whole_blocks", "3 4 72 3 3 1 1 1 1 1 -1 1 1 1")
          .In({2, 12, 9, 8})
          .OutShape({2, 72, 9, 8}),
      // More tiles than a kernel computes at a time, and a rest.
      OpCase("Convolution", "k3_many_tiles", "1 9 17 3 3 1 1 1 1 1 -1 1 1 2")
          .In({2, 9, 13, 13})
          .OutShape({2, 17, 13, 13}),
      OpCase("Convolution", "wide_values", "1 9 5 3 3 1 1 1 1 1 -1 1 1 0").In({1, 9, 6, 5}, Regime::kWide),
      OpCase("Convolution", "constant_field", "1 32 3 3 3 1 1 0 0 0 -1 1 1 0")
          .In({1, 32, 5, 5}, Regime::kConstant)
          .Weight("weight", {3, 32, 3, 3}, Regime::kConstant),
      // Tiles of 2 and of 4 outputs that the map does not fill, in one, two and three images.
      OpCase("Convolution", "k3_odd_batch2", "1 17 21 3 3 1 1 1 1 1 -1 1 1 1")
          .In({2, 17, 9, 14})
          .OutShape({2, 21, 9, 14}),
      OpCase("Convolution", "k3_valid_batch3", "1 6 12 3 3 1 1 0 0 0 1 1 1 256")
          .In({3, 6, 7, 9})
          .OutShape({3, 12, 5, 7}),
      OpCase("Convolution", "k3_wide_pads", "1 8 8 3 3 1 1 2 2 1 -1 1 1 2").In({1, 8, 3, 10}).OutShape({1, 8, 5, 12}),
      // Sums longer than 65,535: what lavapipe's loops turn in one invocation (device/vulkan/loop_rounds.h).
      OpCase("Convolution", "beyond_65535", "1 29500 1 3 3 1 1 1 1 1 -1 1 1 1").In({1, 29500, 2, 1}),
      OpCase("Convolution", "beyond_65535_stereo", "1 2 1 1 40000 1 1 0 0 1 -1 1 1 0").In({1, 2, 1, 40001}),
      OpCase("Convolution", "k3_one_pixel", "1 5 9 3 3 1 1 1 1 1 -1 1 1 0").In({1, 5, 1, 1}).OutShape({1, 9, 1, 1}),
      OpCase("Convolution", "channels160_3x3", "1 160 9 3 3 1 1 1 1 1 -1 1 1 0").In({1, 160, 12, 12}, Regime::kRelu),
      OpCase("Convolution", "zeros", "1 3 4 3 3 1 1 1 1 1 -1 1 1 0").In({1, 3, 5, 5}, Regime::kZeros),
      OpCase("Convolution", "subnormal", "1 3 4 3 3 1 1 1 1 0 -1 1 1 0").In({1, 3, 5, 5}, Regime::kSubnormal),
      OpCase("Convolution", "specials", "1 3 4 1 1 1 1 0 0 0 -1 1 1 0").In({1, 3, 5, 5}, Regime::kSpecials),
      OpCase("Convolution", "channels_do_not_divide", "3 1 6 1 1 1 1 0 0 0 -1 1 1 0")
          .In({1, 4, 2, 2})
          .Refused("groups"),
      OpCase("Convolution", "kernel_does_not_fit", "1 1 1 5 5 1 1 0 0 0 -1 1 1 0")
          .In({1, 1, 3, 3})
          .Refused("does not fit"),
      OpCase("Convolution", "rank3", "1 1 1 1 1 1 1 0 0 0 -1 1 1 0").In({1, 1, 3}).Refused("rank 4"),
      OpCase("Convolution1D", "k3_values", "1 1 1 3 1 1 1 0 -1 1 0")
          .In({1, 1, 3}, {1, 2, 3})
          .Weight("weight", {1, 1, 3}, {1, 1, 1})
          .Out({3, 6, 5}),
      // The file has the end pad first: one pixel behind, none in front.
      OpCase("Convolution1D", "asymmetric_pads", "1 1 1 2 1 1 0 0 -1 1 0")
          .In({1, 1, 2}, {1, 2})
          .Weight("weight", {1, 1, 2}, {10, 1})
          .Out({12, 20}),
      OpCase("Convolution1D", "groups_stride_dilation", "2 3 4 3 2 2 1 1 -1 2 1").In({2, 6, 19}).OutShape({2, 4, 9}),
  };
}

}  // namespace plumb
