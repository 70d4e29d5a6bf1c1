// SPDX-License-Identifier: Apache-2.0
#include "util/op_dtypes.h"

namespace plumb {

// mode (nearest, linear, cubic), pad_type (zeros, reflection, border), align_corners. The values come from ONNX's
// rules, evaluated position by position elsewhere.
std::vector<OpCase> grid_sample_cases() {
  const std::vector<double> x = {0, 1, 2, 3, 4, 5};
  const std::vector<double> grid = {-1, -1, -0.5, -0.25, 0.3, 0.8, 0.9, -1.7, 1.6, 0.1};
  const auto value = [&](const char* name, const char* params) {
    return OpCase("GridSample", name, params).In({1, 1, 3, 2}, x).In({1, 1, 5, 2}, grid);
  };
  // clang-format off
  return WithDoubles({
      value("nearest_zeros", "mode=1").Out({0, 2, 5, 0, 0}),
      value("nearest_zeros_corners", "mode=1 align_corners").Out({0, 2, 5, 0, 3}),
      value("nearest_reflection", "mode=1 pad_type=1").Out({0, 2, 5, 3, 3}),
      value("nearest_reflection_corners", "mode=1 pad_type=1 align_corners").Out({0, 2, 5, 3, 3}),
      value("nearest_border", "mode=1 pad_type=2").Out({0, 2, 5, 1, 3}),
      value("nearest_border_corners", "mode=1 pad_type=2 align_corners").Out({0, 2, 5, 1, 3}),
      value("linear_zeros", "").Out({0, 1.25, 3.84, 0, 0}),
      value("linear_zeros_corners", "align_corners").Out({0, 1.75, 4.25, 0.285, 2.24}),
      value("linear_reflection", "pad_type=1").Out({0, 1.25, 4.8, 2.1, 3.2}),
      value("linear_reflection_corners", "pad_type=1 align_corners").Out({0, 1.75, 4.25, 2.35, 2.9}),
      value("linear_border", "pad_type=2").Out({0, 1.25, 4.8, 1, 3.3}),
      value("linear_border_corners", "pad_type=2 align_corners").Out({0, 1.75, 4.25, 0.95, 3.2}),
      value("cubic_zeros", "mode=3").Out({-0.140625, 1.05957031, 4.66464, -0.0601425, -0.211996617}),
      value("cubic_zeros_corners", "mode=3 align_corners").Out({0, 1.79472351, 5.62880375, 0.179607656, 2.50417344}),
      value("cubic_reflection", "mode=3 pad_type=1").Out({-0.5625, 1.05957031, 5.064, 2.0881875, 3.3359375}),
      value("cubic_reflection_corners", "mode=3 pad_type=1 align_corners").Out({0, 1.421875, 4.60625, 2.11975, 3.083}),
      value("cubic_border", "mode=3 pad_type=2").Out({-0.28125, 1.05957031, 5.016, 1.108, 3.4179375}),
      value("cubic_border_corners", "mode=3 pad_type=2 align_corners").Out({0, 1.5625, 4.3630625, 0.9606875, 3.2855}),
      OpCase("GridSample", "linear").In({2, 3, 7, 5}).In({2, 4, 6, 2}, Regime::kUnit).OutShape({2, 3, 4, 6}),
      OpCase("GridSample", "linear_wide", "pad_type=1 align_corners").In({2, 3, 7, 5}).In({2, 4, 6, 2}, Regime::kGauss),
      OpCase("GridSample", "cubic", "mode=3 pad_type=2").In({2, 3, 7, 5}).In({2, 4, 6, 2}, Regime::kGauss),
      OpCase("GridSample", "nearest_volume", "mode=1 pad_type=2").In({1, 2, 3, 4, 5})
          .In({1, 2, 3, 4, 3}, Regime::kGauss).OutShape({1, 2, 2, 3, 4}),
      OpCase("GridSample", "linear_volume").In({1, 2, 3, 4, 5}).In({1, 2, 3, 4, 3}, Regime::kUnit),
      OpCase("GridSample", "far_outside", "pad_type=1").In({1, 1, 3, 2}, x).In({1, 1, 1, 2}, {1e30, -1e30}),
      OpCase("GridSample", "grid_shape").In({1, 1, 3, 2}).In({1, 1, 5, 3}).Refused("expects x [N, C, spatial ...]"),
      OpCase("GridSample", "mode", "mode=4").In({1, 1, 3, 2}).In({1, 1, 5, 2}).Refused("mode 4 and pad_type 0 must be"),
      OpCase("GridSample", "cubic_volume", "mode=3").In({1, 2, 3, 4, 5}).In({1, 2, 3, 4, 3})
          .Refused("cubic sampling takes 2"),
  });
  // clang-format on
}

}  // namespace plumb
