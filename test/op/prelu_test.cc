// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "util/op_dtypes.h"

namespace plumb {

std::vector<OpCase> prelu_cases() {
  return WithDoubles({
      OpCase("PReLU", "per_channel")
          .In({1, 2, 2}, {-1, 2, -3, NAN})
          .Weight("slope", {2}, {0.5, 10})
          .Out({-0.5, 2, -30, NAN}),
      OpCase("PReLU", "shared", "channel_shared=1")
          .In({1, 2, 2}, {-1, 2, -3, 4})
          .Weight("slope", {1}, {0.5})
          .Out({-0.5, 2, -1.5, 4}),
      OpCase("PReLU", "one_slope_without_the_flag")
          .In({1, 3, 1}, {-1, -2, -3})
          .Weight("slope", {1}, {2})
          .Out({-2, -4, -6}),
      OpCase("PReLU", "missing_tokens").In({1, 2}, {-1, -1}).Weight("slope", {2}, {2, 3}).Out({-2, -3}),
      OpCase("PReLU", "rank_4").In({2, 5, 7, 9}),
      OpCase("PReLU", "rank_3").In({2, 17, 3}),
      OpCase("PReLU", "rank_5").In({1, 3, 2, 5, 3}),
      OpCase("PReLU", "empty").In({0, 3, 4}).OutShape({0, 3, 4}),
      OpCase("PReLU", "wide").In({3, 37}, Regime::kWide),
      OpCase("PReLU", "tail", "channel_shared=1").In({3, 37}, Regime::kTail),
      OpCase("PReLU", "wrong_count").In({1, 3, 2}).Weight("slope", {2}).Refused("slope"),
  });
}

}  // namespace plumb
