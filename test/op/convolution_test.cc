// SPDX-License-Identifier: Apache-2.0
#include "util/op_dtypes.h"

namespace plumb {

std::vector<OpCase> convolution_cases() {
  const auto two_channels = [](const char* name, const char* activation) {
    return OpCase("Convolution", name,
                  std::string("in_channels_per_group=2 out_channels=1 kernel=1 bias activation=") + activation)
        .In({1, 2, 1, 2}, {1, 2, 3, 4})
        .Weight("weight", {1, 2, 1, 1}, {10, -5})
        .Weight("bias", {1}, {0.5});
  };
  return WithDoubles({
      two_channels("k1_values", "0").Out({-4.5, 0.5}),
      two_channels("k1_relu", "1").Out({0, 0.5}),
      OpCase("Convolution", "k1_relu6", "in_channels_per_group=1 out_channels=1 kernel=1 activation=2")
          .In({1, 1, 1, 3}, {-1, 2, 3})
          .Weight("weight", {1, 1, 1, 1}, {2.5})
          .Out({0, 5, 6}),
      two_channels("k1_swish", "256").Out({-4.5 / (1 + 90.01713130052181), 0.5 / (1 + 0.6065306597126334)}),
      // The pixel under the centre of a 3x3 kernel, and its right neighbour.
      OpCase("Convolution", "k3_same_values", "in_channels_per_group=1 out_channels=1 kernel=3 pad_type=0")
          .In({1, 1, 2, 3}, {1, 2, 3, 4, 5, 6})
          .Weight("weight", {1, 1, 3, 3}, {0, 0, 0, 0, 10, 1, 0, 0, 0})
          .Out({12, 23, 30, 45, 56, 60}),
      OpCase("Convolution", "same_stride2_odd_pixel_at_the_end",
             "in_channels_per_group=1 out_channels=1 kernel=2 stride=2 pad_type=0")
          .In({1, 1, 1, 3}, {1, 2, 3})
          .Weight("weight", {1, 1, 2, 2}, {1, 10, 100, 1000})
          .Out({21, 3}),
      OpCase("Convolution", "dilation_per_axis_values", "in_channels_per_group=1 out_channels=1 kernel=2 dilation=1x2")
          .In({1, 1, 2, 3}, {1, 2, 3, 4, 5, 6})
          .Weight("weight", {1, 1, 2, 2}, {1, 10, 100, 1000})
          .Out({6431}),
      OpCase("Convolution", "groups_values", "group=2 in_channels_per_group=1 out_channels=2 kernel=1")
          .In({1, 2, 1, 2}, {1, 2, 3, 4})
          .Weight("weight", {2, 1, 1, 1}, {10, 100})
          .Out({10, 20, 300, 400}),
      OpCase("Convolution", "k3s2p1", "in_channels_per_group=5 out_channels=7 kernel=3 stride=2 pad=1 bias")
          .In({2, 5, 9, 11})
          .OutShape({2, 7, 5, 6}),
      OpCase("Convolution", "k1x7_same",
             "in_channels_per_group=3 out_channels=4 kernel=1x7 pad=0x3 bias pad_type=0 activation=1")
          .In({1, 3, 5, 9})
          .OutShape({1, 4, 5, 9}),
      OpCase("Convolution", "k7x1_same", "in_channels_per_group=3 out_channels=4 kernel=7x1 pad=3x0 bias pad_type=0")
          .In({1, 3, 9, 5})
          .OutShape({1, 4, 9, 5}),
      OpCase("Convolution", "k3_valid_pads_ignored", "in_channels_per_group=2 out_channels=3 kernel=3 pad=1 pad_type=1")
          .In({1, 2, 6, 7})
          .OutShape({1, 3, 4, 5}),
      OpCase("Convolution", "stride3_above_kernel", "in_channels_per_group=3 out_channels=5 kernel=2x1 stride=3 bias")
          .In({3, 3, 11, 13})
          .OutShape({3, 5, 4, 5}),
      OpCase("Convolution", "dilation2x3", "in_channels_per_group=2 out_channels=9 kernel=3 pad=2x3 bias dilation=2x3")
          .In({1, 2, 13, 15})
          .OutShape({1, 9, 13, 15}),
      OpCase("Convolution", "depthwise_k3s2_same",
             "group=6 in_channels_per_group=1 out_channels=6 kernel=3 stride=2 bias pad_type=0 activation=2")
          .In({2, 6, 9, 10})
          .OutShape({2, 6, 5, 5}),
      OpCase("Convolution", "depthwise_k5", "group=11 in_channels_per_group=1 out_channels=11 kernel=5 pad=2 bias")
          .In({2, 11, 9, 7})
          .OutShape({2, 11, 9, 7}),
      OpCase("Convolution", "depthwise_k3_dilation3x2",
             "group=9 in_channels_per_group=1 out_channels=9 kernel=3 stride=2x1 pad=3x2 dilation=3x2")
          .In({1, 9, 13, 8})
          .OutShape({1, 9, 7, 8}),
      OpCase("Convolution", "depthwise_stride3_above_kernel",
             "group=8 in_channels_per_group=1 out_channels=8 kernel=2 stride=3 bias activation=1")
          .In({1, 8, 17, 8})
          .OutShape({1, 8, 6, 3}),
      OpCase("Convolution", "depthwise_multiplier2",
             "group=3 in_channels_per_group=1 out_channels=6 kernel=3 pad=1 bias")
          .In({1, 3, 7, 6})
          .OutShape({1, 6, 7, 6}),
      OpCase("Convolution", "groups3_odd",
             "group=3 in_channels_per_group=3 out_channels=15 kernel=3 pad=1 bias activation=1")
          .In({2, 9, 5, 7})
          .OutShape({2, 15, 5, 7}),
      OpCase("Convolution", "groups3_whole_blocks",
             "group=3 in_channels_per_group=4 out_channels=72 kernel=3 pad=1 bias activation=1")
          .In({2, 12, 9, 8})
          .OutShape({2, 72, 9, 8}),
      // More tiles than a kernel computes at a time, and a rest.
      OpCase("Convolution", "k3_many_tiles", "in_channels_per_group=9 out_channels=17 kernel=3 pad=1 bias activation=2")
          .In({2, 9, 13, 13})
          .OutShape({2, 17, 13, 13}),
      OpCase("Convolution", "wide_values", "in_channels_per_group=9 out_channels=5 kernel=3 pad=1 bias")
          .In({1, 9, 6, 5}, Regime::kWide),
      OpCase("Convolution", "constant_field", "in_channels_per_group=32 out_channels=3 kernel=3")
          .In({1, 32, 5, 5}, Regime::kConstant)
          .Weight("weight", {3, 32, 3, 3}, Regime::kConstant),
      // Tiles of 2 and of 4 outputs that the map does not fill, in one, two and three images.
      OpCase("Convolution", "k3_odd_batch2",
             "in_channels_per_group=17 out_channels=21 kernel=3 pad=1 bias activation=1")
          .In({2, 17, 9, 14})
          .OutShape({2, 21, 9, 14}),
      OpCase("Convolution", "k3_valid_batch3",
             "in_channels_per_group=6 out_channels=12 kernel=3 pad_type=1 activation=256")
          .In({3, 6, 7, 9})
          .OutShape({3, 12, 5, 7}),
      OpCase("Convolution", "k3_wide_pads", "in_channels_per_group=8 out_channels=8 kernel=3 pad=2 bias activation=2")
          .In({1, 8, 3, 10})
          .OutShape({1, 8, 5, 12}),
      // Sums longer than 65,535: what lavapipe's loops turn in one invocation (device/vulkan/loop_rounds.h).
      OpCase("Convolution", "beyond_65535",
             "in_channels_per_group=29500 out_channels=1 kernel=3 pad=1 bias activation=1")
          .In({1, 29500, 2, 1}),
      OpCase("Convolution", "beyond_65535_stereo", "in_channels_per_group=2 out_channels=1 kernel=1x40000 bias")
          .In({1, 2, 1, 40001}),
      // Pads wider than oneDNN's direct kernels take: one block of channels, and several.
      OpCase("Convolution", "k3x39_pads_1x19", "in_channels_per_group=8 out_channels=7 kernel=3x39 pad=1x19 bias")
          .In({2, 8, 9, 50})
          .OutShape({2, 7, 9, 50}),
      OpCase("Convolution", "k1x33_pads_0x16_strided",
             "in_channels_per_group=16 out_channels=20 kernel=1x33 stride=1x2 pad=0x16 dilation=1x2 activation=1")
          .In({1, 16, 5, 70}),
      OpCase("Convolution", "k3_one_pixel", "in_channels_per_group=5 out_channels=9 kernel=3 pad=1 bias")
          .In({1, 5, 1, 1})
          .OutShape({1, 9, 1, 1}),
      OpCase("Convolution", "channels160_3x3", "in_channels_per_group=160 out_channels=9 kernel=3 pad=1 bias")
          .In({1, 160, 12, 12}, Regime::kRelu),
      OpCase("Convolution", "zeros", "in_channels_per_group=3 out_channels=4 kernel=3 pad=1 bias")
          .In({1, 3, 5, 5}, Regime::kZeros),
      OpCase("Convolution", "subnormal", "in_channels_per_group=3 out_channels=4 kernel=3 pad=1")
          .In({1, 3, 5, 5}, Regime::kSubnormal),
      OpCase("Convolution", "specials", "in_channels_per_group=3 out_channels=4 kernel=1")
          .In({1, 3, 5, 5}, Regime::kSpecials),
      OpCase("Convolution", "channels_do_not_divide", "group=3 in_channels_per_group=1 out_channels=6 kernel=1")
          .In({1, 4, 2, 2})
          .Refused("groups"),
      OpCase("Convolution", "kernel_does_not_fit", "in_channels_per_group=1 out_channels=1 kernel=5")
          .In({1, 1, 3, 3})
          .Refused("does not fit"),
      OpCase("Convolution", "rank3", "in_channels_per_group=1 out_channels=1 kernel=1").In({1, 1, 3}).Refused("rank 4"),
      OpCase("Convolution1D", "k3_values", "in_channels_per_group=1 out_channels=1 kernel=3 pad_end=1 pad_begin=1")
          .In({1, 1, 3}, {1, 2, 3})
          .Weight("weight", {1, 1, 3}, {1, 1, 1})
          .Out({3, 6, 5}),
      // The file has the end pad first: one pixel behind, none in front.
      OpCase("Convolution1D", "asymmetric_pads", "in_channels_per_group=1 out_channels=1 kernel=2 pad_end=1")
          .In({1, 1, 2}, {1, 2})
          .Weight("weight", {1, 1, 2}, {10, 1})
          .Out({12, 20}),
      OpCase("Convolution1D", "groups_stride_dilation",
             "group=2 in_channels_per_group=3 out_channels=4 kernel=3 stride=2 pad_end=2 pad_begin=1 bias dilation=2 "
             "activation=1")
          .In({2, 6, 19})
          .OutShape({2, 4, 9}),
      // Winograd's algorithm, a column as a row; one tap; stride 2; fewer channels than a block.
      OpCase("Convolution1D", "k3_channels",
             "in_channels_per_group=35 out_channels=40 kernel=3 pad_end=1 pad_begin=1 bias activation=1")
          .In({2, 35, 26})
          .OutShape({2, 40, 26}),
      OpCase("Convolution1D", "k5_channels",
             "in_channels_per_group=24 out_channels=37 kernel=5 pad_end=2 pad_begin=1 bias")
          .In({1, 24, 31})
          .OutShape({1, 37, 30}),
      OpCase("Convolution1D", "k7_channels", "in_channels_per_group=20 out_channels=33 kernel=7 pad_end=3 pad_begin=3")
          .In({1, 20, 18})
          .OutShape({1, 33, 18}),
      OpCase("Convolution1D", "k1_channels", "in_channels_per_group=300 out_channels=40 kernel=1 bias activation=2")
          .In({1, 300, 21})
          .OutShape({1, 40, 21}),
      OpCase("Convolution1D", "stride2_channels",
             "in_channels_per_group=40 out_channels=48 kernel=3 stride=2 pad_end=1 pad_begin=1 bias")
          .In({1, 40, 33})
          .OutShape({1, 48, 17}),
      OpCase("Convolution1D", "first_layer",
             "in_channels_per_group=1 out_channels=24 kernel=7 stride=4 pad_end=3 pad_begin=3 bias activation=1")
          .In({1, 1, 101})
          .OutShape({1, 24, 26}),
  });
}

}  // namespace plumb
