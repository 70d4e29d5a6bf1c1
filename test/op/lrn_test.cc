#include <cmath>

#include "util/op_case.h"

namespace plumb {

std::vector<OpCase> lrn_cases() {
  return {
      // alpha / size = 1, beta 1, bias 1: q = 1 + the squares in the window
      OpCase("LRN", "size_3", "3 1 1 3").In({1, 4, 1, 1}, {1, 2, 3, 4}).Out({1.0 / 6, 2.0 / 15, 3.0 / 30, 4.0 / 26}),
      OpCase("LRN", "size_2_looks_ahead", "2 1 1 2")
          .In({1, 4}, {1, 2, 3, 4})
          .Out({1.0 / 6, 2.0 / 14, 3.0 / 26, 4.0 / 17}),
      OpCase("LRN", "size_1", "1 0.5 0 1").In({1, 3}, {2, -3, 4}).Out({1, -1, 1}),
      OpCase("LRN", "size_4", "4 1 1 4").In({1, 4}, {1, 1, 1, 1}).Out({0.25, 0.2, 0.25, 1.0 / 3}),
      OpCase("LRN", "beta_zero", "1 0 1 3").In({1, 3}, {2, -3, 4}).Out({2, -3, 4}),
      OpCase("LRN", "rank_4", "0.0001 0.75 1 5").In({2, 19, 7, 9}),
      OpCase("LRN", "strong", "1 0.75 2 5").In({2, 19, 3, 5}),
      OpCase("LRN", "even", "0.5 0.75 1 6").In({2, 19, 3, 5}),
      OpCase("LRN", "window_wider_than_channels", "0.5 0.75 1 9").In({2, 3, 3, 5}),
      OpCase("LRN", "rank_3", "0.5 0.5 1 5").In({2, 7, 5}),
      OpCase("LRN", "rank_5", "0.5 1 1 3").In({1, 5, 2, 3, 3}),
      OpCase("LRN", "tail", "0.0001 0.75 1 5").In({2, 19, 3}, Regime::kTail),
      OpCase("LRN", "wide", "0.0001 0.75 1 5").In({2, 19, 3}, Regime::kWide),
      OpCase("LRN", "zeros", "0.0001 0.75 1 5").In({2, 19, 3}, Regime::kZeros),
      OpCase("LRN", "empty", "1 0.75 1 5").In({0, 19, 3}).OutShape({0, 19, 3}),
      OpCase("LRN", "size_zero", "1 0.75 1 0").In({1, 3}).Refused("size 0"),
      OpCase("LRN", "missing_token", "1 0.75 1").In({1, 3}).Refused("size"),
  };
}

}  // namespace plumb
