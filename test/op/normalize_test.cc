// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "util/op_dtypes.h"

namespace plumb {

std::vector<OpCase> normalize_cases() {
  const char* op = "Normalize";
  return WithDoubles({
      OpCase(op, "l2").In({1, 2, 2}, {3, 0, 4, 0}).Out({0.6, 0, 0.8, 0}),
      OpCase(op, "l1", "p=1").In({1, 2, 2}, {3, 0, -1, 0}).Out({0.75, 0, -0.25, 0}),
      OpCase(op, "max_is_of_magnitudes", "p=2147483647").In({1, 2}, {-4, 2}).Out({-1, 0.5}),
      OpCase(op, "min_is_of_magnitudes", "p=-2147483648").In({1, 2}, {-4, 2}).Out({-2, 1}),
      OpCase(op, "epsilon_wins", "epsilon=10").In({1, 2}, {3, 4}).Out({0.3, 0.4}),
      OpCase(op, "across_spatial", "across_spatial=1").In({1, 2, 2}, {1, 1, 1, 1}).Out({0.5, 0.5, 0.5, 0.5}),
      OpCase(op, "last_axis", "axis=-1").In({2, 2}, {3, 4, 0, 2}).Out({0.6, 0.8, 0, 1}),
      OpCase(op, "axis_0", "axis=0").In({2, 2}, {3, 0, 4, 2}).Out({0.6, 0, 0.8, 1}),
      OpCase(op, "channels").In({2, 19, 3, 5}),
      OpCase(op, "channels_l1", "p=1").In({2, 19, 3, 5}),
      OpCase(op, "across_spatial_4d", "across_spatial=1").In({2, 19, 3, 5}),
      OpCase(op, "rank_2").In({3, 517}),
      // Longer than 65,535: what lavapipe's loops turn in one invocation (device/vulkan/loop_rounds.h).
      OpCase(op, "beyond_65535").In({2, 70000}),
      OpCase(op, "offset").In({3, 517}, Regime::kOffset),
      OpCase(op, "constant").In({2, 768}, Regime::kConstant),
      OpCase(op, "zeros").In({3, 17}, Regime::kZeros),
      OpCase(op, "rank_5").In({1, 5, 2, 3, 3}),
      OpCase(op, "empty").In({0, 5}).OutShape({0, 5}),
      OpCase(op, "p_unknown", "p=3").In({1, 2}).Refused("p 3"),
  });
}

}  // namespace plumb
