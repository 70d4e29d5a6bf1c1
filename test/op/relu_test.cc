#include "util/op_case.h"

#include <cmath>

namespace plumb {

std::vector<OpCase> relu_cases() {
  return {
      OpCase("ReLU", "values").In({7}, {-2, -0.0, 0, 3, NAN, INFINITY, -INFINITY}).Out({0, 0, 0, 3, NAN, INFINITY, 0}),
      OpCase("ReLU", "gauss_4d").In({2, 3, 5, 7}),
      OpCase("ReLU", "rank_5").In({1, 2, 3, 2, 5}),
      OpCase("ReLU", "scalar").In({}, {-1.5}).Out({0}).OutShape({}),
      OpCase("ReLU", "empty").In({0, 3, 4}).OutShape({0, 3, 4}),
      OpCase("ReLU", "wide").In({3, 17}, Regime::kWide),
      OpCase("ReLU", "subnormal").In({3, 17}, Regime::kSubnormal),
      OpCase("ReLU", "specials").In({3, 17}, Regime::kSpecials),
  };
}

}  // namespace plumb
