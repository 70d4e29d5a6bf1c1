// SPDX-License-Identifier: Apache-2.0
#include "util/op_dtypes.h"

namespace plumb {

std::vector<OpCase> deconvolution_cases() {
  const auto one_row = [](const char* name, const char* params) {
    return OpCase("Deconvolution", name, params).In({1, 1, 1, 2}, {1, 2}).Weight("weight", {1, 1, 1, 3}, {1, 10, 100});
  };
  return WithDoubles({
      one_row("overlap_adds", "in_channels_per_group=1 out_channels=1 kernel=1x3").Out({1, 12, 120, 200}),
      one_row("stride2", "in_channels_per_group=1 out_channels=1 kernel=1x3 stride=1x2").Out({1, 10, 102, 20, 200}),
      one_row("stride2_pad1", "in_channels_per_group=1 out_channels=1 kernel=1x3 stride=1x2 pad=0x1")
          .Out({10, 102, 20}),
      one_row("dilation2", "in_channels_per_group=1 out_channels=1 kernel=1x3 dilation=1x2")
          .Out({1, 2, 10, 20, 100, 200}),
      one_row("same_odd_pixel_at_the_end", "in_channels_per_group=1 out_channels=1 kernel=1x3 stride=1x2 pad_type=0")
          .Out({1, 10, 102, 20}),
      one_row("same_swapped", "in_channels_per_group=1 out_channels=1 kernel=1x3 stride=1x2 pad_type=3")
          .Out({10, 102, 20, 200}),
      one_row("valid", "in_channels_per_group=1 out_channels=1 kernel=1x3 stride=1x2 pad=0x1 pad_type=1")
          .Out({1, 10, 102, 20, 200}),
      // Sums longer than 65,535: what lavapipe's loops turn in one invocation (device/vulkan/loop_rounds.h).
      OpCase("Deconvolution", "beyond_65535", "in_channels_per_group=8000 out_channels=1 kernel=3 bias activation=1")
          .In({1, 8000, 2, 2}),
      OpCase("Deconvolution", "full", "in_channels_per_group=1 out_channels=1 kernel=1x2 stride=1x3 pad_type=2")
          .In({1, 1, 1, 2}, {1, 2})
          .Weight("weight", {1, 1, 1, 2}, {1, 10})
          .Out({10, 0, 2}),
      OpCase("Deconvolution", "same_stride_above_kernel_keeps_the_bias",
             "in_channels_per_group=1 out_channels=1 kernel=1 stride=1x3 bias pad_type=0")
          .In({1, 1, 1, 2}, {1, 2})
          .Weight("weight", {1, 1, 1, 1}, {10})
          .Weight("bias", {1}, {0.5})
          .Out({10.5, 0.5, 0.5, 20.5, 0.5, 0.5}),
      // Two groups of 1 -> 2 channels: weights [group][in][out].
      OpCase("Deconvolution", "groups_values", "group=2 in_channels_per_group=1 out_channels=4 kernel=1 activation=1")
          .In({1, 2, 1, 1}, {1, 2})
          .Weight("weight", {2, 2, 1, 1}, {1, -2, 3, 4})
          .Out({1, 0, 6, 8}),
      OpCase("Deconvolution", "channels_values", "in_channels_per_group=2 out_channels=2 kernel=1")
          .In({1, 2, 1, 1}, {1, 10})
          .Weight("weight", {2, 2, 1, 1}, {1, 2, 3, 4})
          .Out({31, 42}),
      OpCase("Deconvolution", "k4s2p1", "in_channels_per_group=5 out_channels=7 kernel=4 stride=2 pad=1 bias")
          .In({2, 5, 6, 7})
          .OutShape({2, 7, 12, 14}),
      OpCase("Deconvolution", "k3s2_groups",
             "group=3 in_channels_per_group=2 out_channels=9 kernel=3 stride=2 pad=1x0 bias activation=2")
          .In({1, 6, 5, 4})
          .OutShape({1, 9, 9, 9}),
      OpCase("Deconvolution", "depthwise_k4s2",
             "group=6 in_channels_per_group=1 out_channels=6 kernel=4 stride=2 pad=1")
          .In({1, 6, 5, 4})
          .OutShape({1, 6, 10, 8}),
      OpCase("Deconvolution", "stride3x2_dilation2",
             "in_channels_per_group=3 out_channels=4 kernel=2x3 stride=3x2 bias dilation=1x2")
          .In({1, 3, 4, 5})
          .OutShape({1, 4, 11, 13}),
      OpCase("Deconvolution", "constant_field", "in_channels_per_group=64 out_channels=3 kernel=2 stride=2")
          .In({1, 64, 4, 4}, Regime::kConstant)
          .Weight("weight", {64, 3, 2, 2}, Regime::kConstant),
      // Windows that do not overlap: each input value times the whole kernel.
      OpCase("Deconvolution", "tiles_values", "in_channels_per_group=1 out_channels=1 kernel=2 stride=2")
          .In({1, 1, 1, 2}, {1, 2})
          .Weight("weight", {1, 1, 2, 2}, {1, 10, 100, 1000})
          .Out({1, 10, 2, 20, 100, 1000, 200, 2000}),
      OpCase("Deconvolution", "tiles_k2x3",
             "in_channels_per_group=5 out_channels=19 kernel=2x3 stride=2x3 bias activation=2")
          .In({2, 5, 4, 3})
          .OutShape({2, 19, 8, 9}),
      OpCase("Deconvolution", "tiles_few_outputs_values",
             "in_channels_per_group=1 out_channels=2 kernel=1x2 stride=1x2")
          .In({1, 1, 1, 2}, {1, 2})
          .Weight("weight", {1, 2, 1, 2}, {1, 10, 100, 1000})
          .Out({1, 10, 2, 20, 100, 1000, 200, 2000}),
      OpCase("Deconvolution", "tiles_few_outputs",
             "in_channels_per_group=21 out_channels=3 kernel=2x3 stride=2x3 bias activation=1")
          .In({2, 21, 4, 5})
          .OutShape({2, 3, 8, 15}),
      OpCase("Deconvolution", "tiles_k1x4_two_blocks",
             "in_channels_per_group=40 out_channels=33 kernel=1x4 stride=1x4 bias")
          .In({1, 40, 3, 5})
          .OutShape({1, 33, 3, 20}),
      OpCase("Deconvolution", "pads_leave_nothing", "in_channels_per_group=1 out_channels=1 kernel=1 pad=1")
          .In({1, 1, 2, 2})
          .Refused("leave nothing"),
      OpCase("Deconvolution", "bad_pad_type", "in_channels_per_group=1 out_channels=1 kernel=1 pad=1 pad_type=4")
          .In({1, 1, 2, 2})
          .Refused("pad_type 4"),
  });
}

}  // namespace plumb
