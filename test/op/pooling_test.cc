#include "util/op_case.h"

#include <cmath>

namespace plumb {

std::vector<OpCase> pooling_cases() {
  return {
      OpCase("Pooling", "max_2x2", "0 2 2 2 2 0 0 -1 -1 -1 0 0 0 0").In({1, 1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}).Out({6, 8}),
      OpCase("Pooling", "average_global", "1 0 0 1 1 0 0").In({1, 2, 1, 2}, {1, 2, 3, 5}).Out({1.5, 4}),
  };
}

}  // namespace plumb
