#include "util/op_case.h"

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
  return {
      value("nearest_zeros", "1 0 0").Out({0, 2, 5, 0, 0}),
      value("nearest_zeros_corners", "1 0 1").Out({0, 2, 5, 0, 3}),
      value("nearest_reflection", "1 1 0").Out({0, 2, 5, 3, 3}),
      value("nearest_reflection_corners", "1 1 1").Out({0, 2, 5, 3, 3}),
      value("nearest_border", "1 2 0").Out({0, 2, 5, 1, 3}),
      value("nearest_border_corners", "1 2 1").Out({0, 2, 5, 1, 3}),
      value("linear_zeros", "2 0 0").Out({0, 1.25, 3.84, 0, 0}),
      value("linear_zeros_corners", "2 0 1").Out({0, 1.75, 4.25, 0.285, 2.24}),
      value("linear_reflection", "2 1 0").Out({0, 1.25, 4.8, 2.1, 3.2}),
      value("linear_reflection_corners", "2 1 1").Out({0, 1.75, 4.25, 2.35, 2.9}),
      value("linear_border", "2 2 0").Out({0, 1.25, 4.8, 1, 3.3}),
      value("linear_border_corners", "2 2 1").Out({0, 1.75, 4.25, 0.95, 3.2}),
      value("cubic_zeros", "3 0 0").Out({-0.140625, 1.05957031, 4.66464, -0.0601425, -0.211996617}),
      value("cubic_zeros_corners", "3 0 1").Out({0, 1.79472351, 5.62880375, 0.179607656, 2.50417344}),
      value("cubic_reflection", "3 1 0").Out({-0.5625, 1.05957031, 5.064, 2.0881875, 3.3359375}),
      value("cubic_reflection_corners", "3 1 1").Out({0, 1.421875, 4.60625, 2.11975, 3.083}),
      value("cubic_border", "3 2 0").Out({-0.28125, 1.05957031, 5.016, 1.108, 3.4179375}),
      value("cubic_border_corners", "3 2 1").Out({0, 1.5625, 4.3630625, 0.9606875, 3.2855}),
      OpCase("GridSample", "linear", "2 0 0").In({2, 3, 7, 5}).In({2, 4, 6, 2}, Regime::kUnit).OutShape({2, 3, 4, 6}),
      OpCase("GridSample", "linear_wide", "2 1 1").In({2, 3, 7, 5}).In({2, 4, 6, 2}, Regime::kGauss),
      OpCase("GridSample", "cubic", "3 2 0").In({2, 3, 7, 5}).In({2, 4, 6, 2}, Regime::kGauss),
      OpCase("GridSample", "nearest_volume", "1 2 0").In({1, 2, 3, 4, 5}).In({1, 2, 3, 4, 3}, Regime::kGauss).OutShape({1, 2, 2, 3, 4}),
      OpCase("GridSample", "linear_volume", "2 0 0").In({1, 2, 3, 4, 5}).In({1, 2, 3, 4, 3}, Regime::kUnit),
      OpCase("GridSample", "far_outside", "2 1 0").In({1, 1, 3, 2}, x).In({1, 1, 1, 2}, {1e30, -1e30}),
      OpCase("GridSample", "grid_shape", "2 0 0").In({1, 1, 3, 2}).In({1, 1, 5, 3}).Refused("expects x [N, C, spatial ...]"),
      OpCase("GridSample", "mode", "4 0 0").In({1, 1, 3, 2}).In({1, 1, 5, 2}).Refused("mode 4 and pad_type 0 must be"),
      OpCase("GridSample", "cubic_volume", "3 0 0").In({1, 2, 3, 4, 5}).In({1, 2, 3, 4, 3}).Refused("cubic sampling takes 2"),
  };
  // clang-format on
}

}  // namespace plumb
