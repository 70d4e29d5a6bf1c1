// SPDX-License-Identifier: Apache-2.0
#include "util/op_dtypes.h"

#include <cmath>

namespace plumb {

std::vector<OpCase> reshape_cases() {
  return WithDoubles({
      OpCase("Reshape", "infers_one_dim", "num_axes=3 shape=[0,-1,2]")
          .In({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8})
          .Out({1, 2, 3, 4, 5, 6, 7, 8})
          .OutShape({2, 2, 2}),
  });
}

}  // namespace plumb
