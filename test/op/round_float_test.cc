// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "util/op_case.h"

namespace plumb {

std::vector<OpCase> round_float_cases() {
  // clang-format off
  return {
      OpCase("PlumbRoundFloat", "e4m3fn", "format=e4m3fn saturate")
          .In({8}, {1.0625, 1.1875, -0.002, 464, 465, INFINITY, NAN, 0.0009})
          .Out({1, 1.25, -0.001953125, 448, 448, 448, NAN, 0}, 0),
      OpCase("PlumbRoundFloat", "e4m3fn_open", "format=e4m3fn saturate=0").In({4}, {464, 465, -INFINITY, 447})
          .Out({448, NAN, NAN, 448}, 0),
      OpCase("PlumbRoundFloat", "e4m3fnuz", "format=e4m3fnuz saturate").In({4}, {-0.0001, 247, 1000, 0.0009765625})
          .Out({0, 240, 240, 0.0009765625}, 0),
      OpCase("PlumbRoundFloat", "e5m2", "format=e5m2 saturate").In({4}, {1.125, 1.375, 70000, -INFINITY})
          .Out({1, 1.5, 57344, -57344}, 0),
      OpCase("PlumbRoundFloat", "e5m2_open", "format=e5m2 saturate=0").In({4}, {61439, 61440, -INFINITY, 1e-5})
          .Out({57344, INFINITY, -INFINITY, 1.52587890625e-5}, 0),
      OpCase("PlumbRoundFloat", "e5m2fnuz", "format=e5m2fnuz saturate=0").In({2}, {70000, 7.62939453125e-6})
          .Out({NAN, 7.62939453125e-6}, 0),
      OpCase("PlumbRoundFloat", "e2m1fn", "format=e2m1fn saturate").In({8}, {0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5, 7})
          .Out({0, 1, 1, 2, 2, 4, 4, 6}, 0),
      OpCase("PlumbRoundFloat", "odd_shape", "format=e4m3fn saturate").In({3, 7, 5}),
      OpCase("PlumbRoundFloat", "no_such_format", "format=e9m9 saturate").In({2}).Refused("'e9m9' is no small float"),
  };
  // clang-format on
}

}  // namespace plumb
