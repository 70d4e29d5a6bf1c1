// SPDX-License-Identifier: Apache-2.0
#include "util/op_dtypes.h"

#include <cmath>

namespace plumb {

std::vector<OpCase> softmax_cases() {
  const double third = 1.0 / 3;
  return WithDoubles({
      OpCase("Softmax", "equal").In({2, 3}, {0, 0, 0, 7, 7, 7}).Out({third, third, third, third, third, third}),
      OpCase("Softmax", "log_weights", "axis=-1")
          .In({1, 3}, {std::log(1.0), std::log(2.0), std::log(5.0)})
          .Out({0.125, 0.25, 0.625}),
      OpCase("Softmax", "axis_0", "axis=0").In({2, 2}, {0, 1, 0, 1}).Out({0.5, 0.5, 0.5, 0.5}),
      OpCase("Softmax", "shifted_by_maximum").In({1, 2}, {1000, 1000}).Out({0.5, 0.5}),
      OpCase("Softmax", "channels_4d").In({2, 11, 3, 5}),
      OpCase("Softmax", "long_row").In({2, 1000}, Regime::kOffset),
      // Longer than 65,535: what lavapipe's loops turn in one invocation (device/vulkan/loop_rounds.h).
      OpCase("Softmax", "beyond_65535").In({1, 70000}),
      OpCase("LogSoftmax", "beyond_65535").In({1, 70000, 2}),
      OpCase("Softmax", "tail", "axis=2").In({1, 3, 33}, Regime::kTail),
      OpCase("Softmax", "one_element").In({3, 1}).Out({1, 1, 1}),
      OpCase("Softmax", "axis_outside", "axis=4").In({2, 3}).Refused("axis 4"),
      OpCase("LogSoftmax", "log_weights", "axis=-1")
          .In({1, 3}, {std::log(1.0), std::log(2.0), std::log(5.0)})
          .Out({-std::log(8.0), -std::log(4.0), std::log(0.625)}),
      OpCase("LogSoftmax", "far_below").In({1, 2}, {0, 1000}).Out({-1000, 0}),
      OpCase("LogSoftmax", "minus_infinity").In({1, 2}, {-INFINITY, 3}).Out({-INFINITY, 0}),
      OpCase("LogSoftmax", "nan_spoils_its_row")
          .In({2, 2}, {NAN, 1, 3, 3})
          .Out({NAN, NAN, -std::log(2.0), -std::log(2.0)}),
      OpCase("LogSoftmax", "channels_4d").In({2, 11, 3, 5}),
      OpCase("LogSoftmax", "long_row").In({2, 1000}, Regime::kOffset),
      OpCase("LogSoftmax", "constant").In({2, 1000}, Regime::kConstant),
      OpCase("LogSoftmax", "tail", "axis=2").In({1, 3, 33}, Regime::kTail),
      OpCase("LogSoftmax", "one_element").In({3, 1}).Out({0, 0, 0}),
      OpCase("LogSoftmax", "empty").In({0, 3}).OutShape({0, 3}),
      OpCase("LogSoftmax", "i32").In({2, 3}, Regime::kInts, DType::kI32).Refused("expects a float blob"),
      OpCase("Softmax", "minus_infinity").In({1, 2}, {-INFINITY, 3}).Out({0, 1}),
      OpCase("Softmax", "nan_spoils_its_row").In({2, 2}, {NAN, 1, 3, 3}).Out({NAN, NAN, 0.5, 0.5}),
      OpCase("Softmax", "constant").In({2, 1000}, Regime::kConstant),
  });
}

}  // namespace plumb
