#include "util/op_case.h"

#include <cmath>

namespace plumb {

std::vector<OpCase> concat_cases() {
  return {
      OpCase("Concat", "channels", "1").In({1, 1, 2}, {1, 2}).In({1, 2, 2}, {3, 4, 5, 6}).Out({1, 2, 3, 4, 5, 6}).OutShape({1, 3, 2}),
  };
}

}  // namespace plumb
