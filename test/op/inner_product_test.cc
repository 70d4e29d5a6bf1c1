#include "util/op_case.h"

#include <cmath>

namespace plumb {

std::vector<OpCase> inner_product_cases() {
  return {
      OpCase("InnerProduct", "values", "2 1 0 1").In({1, 3}, {1, 2, 3}).Weight("weight", {2, 3}, {1, 0, 0, 1, 1, 1}).Weight("bias", {2}, {0.5, -1}).Out({1.5, 5}),
  };
}

}  // namespace plumb
