#include "util/op_case.h"

namespace plumb {

// group in/group out kernel(h w) stride(h w) pad(h w) bias pad_type dilation(h w) activation
std::vector<OpCase> deconvolution_cases() {
  const auto one_row = [](const char* name, const char* params) {
    return OpCase("Deconvolution", name, params).In({1, 1, 1, 2}, {1, 2}).Weight("weight", {1, 1, 1, 3}, {1, 10, 100});
  };
  return {
      one_row("overlap_adds", "1 1 1 1 3 1 1 0 0 0 -1 1 1 0").Out({1, 12, 120, 200}),
      one_row("stride2", "1 1 1 1 3 1 2 0 0 0 -1 1 1 0").Out({1, 10, 102, 20, 200}),
      one_row("stride2_pad1", "1 1 1 1 3 1 2 0 1 0 -1 1 1 0").Out({10, 102, 20}),
      one_row("dilation2", "1 1 1 1 3 1 1 0 0 0 -1 1 2 0").Out({1, 2, 10, 20, 100, 200}),
      one_row("same_odd_pixel_at_the_end", "1 1 1 1 3 1 2 0 0 0 0 1 1 0").Out({1, 10, 102, 20}),
      one_row("same_swapped", "1 1 1 1 3 1 2 0 0 0 3 1 1 0").Out({10, 102, 20, 200}),
      one_row("valid", "1 1 1 1 3 1 2 0 1 0 1 1 1 0").Out({1, 10, 102, 20, 200}),
      // Sums longer than 65,535: what lavapipe's loops turn in one invocation (device/vulkan/loop_rounds.h).
      OpCase("Deconvolution", "beyond_65535", "1 8000 1 3 3 1 1 0 0 1 -1 1 1 1").In({1, 8000, 2, 2}),
      OpCase("Deconvolution", "full", "1 1 1 1 2 1 3 0 0 0 2 1 1 0")
          .In({1, 1, 1, 2}, {1, 2})
          .Weight("weight", {1, 1, 1, 2}, {1, 10})
          .Out({10, 0, 2}),
      OpCase("Deconvolution", "same_stride_above_kernel_keeps_the_bias", "1 1 1 1 1 1 3 0 0 1 0 1 1 0")
          .In({1, 1, 1, 2}, {1, 2})
          .Weight("weight", {1, 1, 1, 1}, {10})
          .Weight("bias", {1}, {0.5})
          .Out({10.5, 0.5, 0.5, 20.5, 0.5, 0.5}),
      // Two groups of 1 -> 2 channels: weights [group][in][out].
      OpCase("Deconvolution", "groups_values", "2 1 4 1 1 1 1 0 0 0 -1 1 1 1")
          .In({1, 2, 1, 1}, {1, 2})
          .Weight("weight", {2, 2, 1, 1}, {1, -2, 3, 4})
          .Out({1, 0, 6, 8}),
      OpCase("Deconvolution", "channels_values", "1 2 2 1 1 1 1 0 0 0 -1 1 1 0")
          .In({1, 2, 1, 1}, {1, 10})
          .Weight("weight", {2, 2, 1, 1}, {1, 2, 3, 4})
          .Out({31, 42}),
      OpCase("Deconvolution", "k4s2p1", "1 5 7 4 4 2 2 1 1 1 -1 1 1 0").In({2, 5, 6, 7}).OutShape({2, 7, 12, 14}),
      OpCase("Deconvolution", "k3s2_groups", "3 2 9 3 3 2 2 1 0 1 -1 1 1 2").In({1, 6, 5, 4}).OutShape({1, 9, 9, 9}),
      OpCase("Deconvolution", "depthwise_k4s2", "6 1 6 4 4 2 2 1 1 0 -1 1 1 0")
          .In({1, 6, 5, 4})
          .OutShape({1, 6, 10, 8}),
      OpCase("Deconvolution", "stride3x2_dilation2", "1 3 4 2 3 3 2 0 0 1 -1 1 2 0")
          .In({1, 3, 4, 5})
          .OutShape({1, 4, 11, 13}),
      OpCase("Deconvolution", "constant_field", "1 64 3 2 2 2 2 0 0 0 -1 1 1 0")
          .In({1, 64, 4, 4}, Regime::kConstant)
          .Weight("weight", {64, 3, 2, 2}, Regime::kConstant),
      // Windows that do not overlap: each input value times the whole kernel.
      OpCase("Deconvolution", "tiles_values", "1 1 1 2 2 2 2 0 0 0 -1 1 1 0")
          .In({1, 1, 1, 2}, {1, 2})
          .Weight("weight", {1, 1, 2, 2}, {1, 10, 100, 1000})
          .Out({1, 10, 2, 20, 100, 1000, 200, 2000}),
      OpCase("Deconvolution", "tiles_k2x3", "1 5 19 2 3 2 3 0 0 1 -1 1 1 2").In({2, 5, 4, 3}).OutShape({2, 19, 8, 9}),
      OpCase("Deconvolution", "tiles_k1x4_two_blocks", "1 40 33 1 4 1 4 0 0 1 -1 1 1 0")
          .In({1, 40, 3, 5})
          .OutShape({1, 33, 3, 20}),
      OpCase("Deconvolution", "pads_leave_nothing", "1 1 1 1 1 1 1 1 1 0 -1 1 1 0")
          .In({1, 1, 2, 2})
          .Refused("leave nothing"),
      OpCase("Deconvolution", "bad_pad_type", "1 1 1 1 1 1 1 1 1 0 4 1 1 0").In({1, 1, 2, 2}).Refused("pad_type 4"),
  };
}

}  // namespace plumb
