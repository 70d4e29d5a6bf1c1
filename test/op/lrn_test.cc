// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "util/op_dtypes.h"

namespace plumb {

std::vector<OpCase> lrn_cases() {
  return WithDoubles({
      // alpha / size = 1, beta 1, bias 1: q = 1 + the squares in the window
      OpCase("LRN", "size_3", "alpha=3 beta=1 size=3")
          .In({1, 4, 1, 1}, {1, 2, 3, 4})
          .Out({1.0 / 6, 2.0 / 15, 3.0 / 30, 4.0 / 26}),
      OpCase("LRN", "size_2_looks_ahead", "alpha=2 beta=1 size=2")
          .In({1, 4}, {1, 2, 3, 4})
          .Out({1.0 / 6, 2.0 / 14, 3.0 / 26, 4.0 / 17}),
      OpCase("LRN", "size_1", "alpha=1 beta=0.5 bias=0 size=1").In({1, 3}, {2, -3, 4}).Out({1, -1, 1}),
      OpCase("LRN", "size_4", "alpha=4 beta=1 size=4").In({1, 4}, {1, 1, 1, 1}).Out({0.25, 0.2, 0.25, 1.0 / 3}),
      OpCase("LRN", "beta_zero", "alpha=1 beta=0 size=3").In({1, 3}, {2, -3, 4}).Out({2, -3, 4}),
      OpCase("LRN", "rank_4").In({2, 19, 7, 9}),
      OpCase("LRN", "strong", "alpha=1 bias=2").In({2, 19, 3, 5}),
      OpCase("LRN", "even", "alpha=0.5 size=6").In({2, 19, 3, 5}),
      OpCase("LRN", "window_wider_than_channels", "alpha=0.5 size=9").In({2, 3, 3, 5}),
      OpCase("LRN", "rank_3", "alpha=0.5 beta=0.5").In({2, 7, 5}),
      OpCase("LRN", "rank_5", "alpha=0.5 beta=1 size=3").In({1, 5, 2, 3, 3}),
      OpCase("LRN", "tail").In({2, 19, 3}, Regime::kTail),
      OpCase("LRN", "wide").In({2, 19, 3}, Regime::kWide),
      OpCase("LRN", "zeros").In({2, 19, 3}, Regime::kZeros),
      OpCase("LRN", "empty", "alpha=1").In({0, 19, 3}).OutShape({0, 19, 3}),
      OpCase("LRN", "size_zero", "alpha=1 size=0").In({1, 3}).Refused("size 0"),
  });
}

}  // namespace plumb
