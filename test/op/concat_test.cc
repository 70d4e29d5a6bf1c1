// SPDX-License-Identifier: Apache-2.0
#include "util/op_dtypes.h"

#include <cmath>

namespace plumb {

std::vector<OpCase> concat_cases() {
  return WithDoubles({
      OpCase("Concat", "known_values")
          .Const({2, 1}, {1, 2}, DType::kI64)
          .Const({2, 2}, {3, 4, 5, 6}, DType::kI64)
          .Out({1, 3, 4, 2, 5, 6}),
      OpCase("Concat", "channels")
          .In({1, 1, 2}, {1, 2})
          .In({1, 2, 2}, {3, 4, 5, 6})
          .Out({1, 2, 3, 4, 5, 6})
          .OutShape({1, 3, 2}),
  });
}

}  // namespace plumb
