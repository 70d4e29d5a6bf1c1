#include "util/op_dtypes.h"

namespace plumb {

std::vector<OpCase> pixel_shuffle_cases() {
  // clang-format off
  std::vector<OpCase> cases = {
      OpCase("PixelShuffle", "factor_2", "2").In({1, 4, 1, 2}, {1, 2, 3, 4, 5, 6, 7, 8}).Out({1, 3, 2, 4, 5, 7, 6, 8}).OutShape({1, 1, 2, 4}),
      OpCase("PixelShuffle", "two_channels", "2").In({1, 8, 1, 1}, {1, 2, 3, 4, 5, 6, 7, 8}).Out({1, 2, 3, 4, 5, 6, 7, 8}).OutShape({1, 2, 2, 2}),
      OpCase("PixelShuffle", "factor_3", "3").In({2, 18, 5, 7}).OutShape({2, 2, 15, 21}),
      OpCase("PixelShuffle", "no_multiple", "2").In({1, 6, 2, 2}).Refused("no multiple of 4"),
      OpCase("PixelShuffle", "factor_0", "0").In({1, 6, 2, 2}).Refused("factor 0"),
      OpCase("PixelShuffle", "rank_3", "2").In({4, 2, 2}).Refused("must be 4-D, found [4,2,2]"),
      OpCase("Reorg", "depth_to_space_dcr", "2 1 0 0").In({1, 8, 1, 1}, {1, 2, 3, 4, 5, 6, 7, 8}).Out({1, 3, 5, 7, 2, 4, 6, 8}).OutShape({1, 2, 2, 2}),
      OpCase("Reorg", "depth_to_space_crd", "2 1 0 1").In({1, 8, 1, 1}, {1, 2, 3, 4, 5, 6, 7, 8}).Out({1, 2, 3, 4, 5, 6, 7, 8}).OutShape({1, 2, 2, 2}),
      OpCase("Reorg", "space_to_depth_dcr", "2 0 0 0").In({1, 2, 2, 2}, {1, 3, 5, 7, 2, 4, 6, 8}).Out({1, 2, 3, 4, 5, 6, 7, 8}).OutShape({1, 8, 1, 1}),
      OpCase("Reorg", "space_to_depth_crd", "2 0 0 1").In({1, 2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8}).Out({1, 2, 3, 4, 5, 6, 7, 8}).OutShape({1, 8, 1, 1}),
      OpCase("Reorg", "space_to_depth_odd_stride", "3 0 0 0").In({2, 5, 6, 9}).OutShape({2, 45, 2, 3}),
      OpCase("Reorg", "not_divisible", "2 0 0 0").In({1, 1, 3, 4}).Refused("no multiples of 2"),
      OpCase("Reorg", "unknown_mode", "2 1 0 2").In({1, 4, 3, 4}).Refused("mode 2"),
  };
  // clang-format on
  AddForEveryDType(OpCase("PixelShuffle", "dtype", "2").In({2, 8, 2, 3}), &cases);
  AddForEveryDType(OpCase("Reorg", "dtype", "2 0 0 0").In({2, 3, 2, 4}), &cases);
  return cases;
}

}  // namespace plumb
