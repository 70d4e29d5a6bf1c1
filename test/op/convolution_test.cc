#include "util/op_case.h"

#include <cmath>

namespace plumb {

std::vector<OpCase> convolution_cases() {
  return {
      OpCase("Convolution", "k1_values", "1 2 1 1 1 1 1 0 0 1 -1 1 1 0").In({1, 2, 1, 2}, {1, 2, 3, 4}).Weight("weight", {1, 2, 1, 1}, {10, 1}).Weight("bias", {1}, {0.5}).Out({13.5, 24.5}),
      OpCase("Convolution1D", "k3_values", "1 1 1 3 1 1 1 0 -1 1 0").In({1, 1, 3}, {1, 2, 3}).Weight("weight", {1, 1, 3}, {1, 1, 1}).Out({3, 6, 5}),
  };
}

}  // namespace plumb
