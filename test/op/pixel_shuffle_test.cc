// SPDX-License-Identifier: Apache-2.0
#include "util/op_dtypes.h"

namespace plumb {

std::vector<OpCase> pixel_shuffle_cases() {
  // clang-format off
  std::vector<OpCase> cases = {
      OpCase("PixelShuffle", "factor_2", "upscale_factor=2").In({1, 4, 1, 2}, {1, 2, 3, 4, 5, 6, 7, 8})
          .Out({1, 3, 2, 4, 5, 7, 6, 8}).OutShape({1, 1, 2, 4}),
      OpCase("PixelShuffle", "two_channels", "upscale_factor=2").In({1, 8, 1, 1}, {1, 2, 3, 4, 5, 6, 7, 8})
          .Out({1, 2, 3, 4, 5, 6, 7, 8}).OutShape({1, 2, 2, 2}),
      OpCase("PixelShuffle", "factor_3", "upscale_factor=3").In({2, 18, 5, 7}).OutShape({2, 2, 15, 21}),
      OpCase("PixelShuffle", "no_multiple", "upscale_factor=2").In({1, 6, 2, 2}).Refused("no multiple of 4"),
      OpCase("PixelShuffle", "factor_0", "upscale_factor=0").In({1, 6, 2, 2}).Refused("factor 0"),
      OpCase("PixelShuffle", "rank_3", "upscale_factor=2").In({4, 2, 2}).Refused("must be 4-D, found [4,2,2]"),
      OpCase("Reorg", "depth_to_space_dcr", "stride=2 forward=1").In({1, 8, 1, 1}, {1, 2, 3, 4, 5, 6, 7, 8})
          .Out({1, 3, 5, 7, 2, 4, 6, 8}).OutShape({1, 2, 2, 2}),
      OpCase("Reorg", "depth_to_space_crd", "stride=2 forward=1 mode=1").In({1, 8, 1, 1}, {1, 2, 3, 4, 5, 6, 7, 8})
          .Out({1, 2, 3, 4, 5, 6, 7, 8}).OutShape({1, 2, 2, 2}),
      OpCase("Reorg", "space_to_depth_dcr", "stride=2").In({1, 2, 2, 2}, {1, 3, 5, 7, 2, 4, 6, 8})
          .Out({1, 2, 3, 4, 5, 6, 7, 8}).OutShape({1, 8, 1, 1}),
      OpCase("Reorg", "space_to_depth_crd", "stride=2 mode=1").In({1, 2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8})
          .Out({1, 2, 3, 4, 5, 6, 7, 8}).OutShape({1, 8, 1, 1}),
      OpCase("Reorg", "space_to_depth_odd_stride", "stride=3").In({2, 5, 6, 9}).OutShape({2, 45, 2, 3}),
      OpCase("Reorg", "not_divisible", "stride=2").In({1, 1, 3, 4}).Refused("no multiples of 2"),
      OpCase("Reorg", "unknown_mode", "stride=2 forward=1 mode=2").In({1, 4, 3, 4}).Refused("mode 2"),
  };
  // clang-format on
  AddForEveryDType(OpCase("PixelShuffle", "dtype", "upscale_factor=2").In({2, 8, 2, 3}), &cases);
  AddForEveryDType(OpCase("Reorg", "dtype", "stride=2").In({2, 3, 2, 4}), &cases);
  return cases;
}

}  // namespace plumb
