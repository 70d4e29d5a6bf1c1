// SPDX-License-Identifier: Apache-2.0
#include "util/op_case.h"

namespace plumb {

std::vector<OpCase> roi_align_cases() {
  const DType i64 = DType::kI64;
  const std::vector<double> x = {0, 3.5, 1.5, 5, 3, 1, 4.5, 2.5, 0.5, 4, 2, 0, 3.5, 1.5, 5, 3, 1, 4.5, 2.5, 0.5};
  // mode (0 max, 1 average), out_h, out_w, sampling_ratio, spatial_scale[, half_pixel]
  // clang-format off
  return {
      OpCase("PlumbRoiAlign", "average", "out=2 sampling_ratio=2 spatial_scale=0.5").In({1, 1, 4, 5}, x)
          .In({1, 4}, {0, 1, 6, 5}).In({1}, {0}, i64).Out({1.59375, 2.671875, 1.734375, 2.640625})
          .OutShape({1, 1, 2, 2}),
      OpCase("PlumbRoiAlign", "max", "mode=0 out=2 sampling_ratio=2 spatial_scale=0.5").In({1, 1, 4, 5}, x)
          .In({1, 4}, {0, 1, 6, 5}).In({1}, {0}, i64).Out({2.109375, 2.109375, 2.109375, 2.296875}),
      OpCase("RoiAlign", "adaptive", "out=2 spatial_scale=0.5").In({1, 1, 4, 5}, x).In({1, 4}, {1, 0, 9, 8})
          .In({1}, {0}, i64).Out({2.8125, 2.9375, 2.5, 1.9375}),
      OpCase("RoiAlign", "at_least_one", "out=1x2 sampling_ratio=1 spatial_scale=1").In({1, 1, 4, 5}, x)
          .In({1, 4}, {2, 2, 2.5, 2.5}).In({1}, {0}, i64).Out({3.5, 2.5}),
      OpCase("PlumbRoiAlign", "images", "out=3x4 spatial_scale=0.25").In({2, 3, 9, 11})
          .In({3, 4}, {0, 0, 40, 30, 4, 8, 20, 28, -8, -8, 60, 50}).In({3}, {1, 0, 1}, DType::kI32)
          .OutShape({3, 3, 3, 4}),
      OpCase("RoiAlign", "shapes", "out=2 spatial_scale=1").In({1, 1, 4, 5}).In({1, 5}).In({1}, {0}, i64)
          .Refused("expects x [N, C, H, W], rois [R, 4]"),
      OpCase("RoiAlign", "no_size", "out=0x2 spatial_scale=1").In({1, 1, 4, 5}).In({1, 4}).In({1}, {0}, i64)
          .Refused("a positive output size"),
  };
  // clang-format on
}

}  // namespace plumb
