// SPDX-License-Identifier: Apache-2.0
#include "util/op_dtypes.h"

namespace plumb {

// num_output has_bias transpose axis
std::vector<OpCase> inner_product_cases() {
  return WithDoubles({
      OpCase("InnerProduct", "values", "num_output=2 has_bias")
          .In({1, 3}, {1, 2, 3})
          .Weight("weight", {2, 3}, {1, 0, 0, 1, 1, 1})
          .Weight("bias", {2}, {0.5, -1})
          .Out({1.5, 5}),
      OpCase("InnerProduct", "batch_values", "num_output=1")
          .In({2, 2}, {1, 2, 3, 4})
          .Weight("weight", {1, 2}, {10, 1})
          .Out({12, 34}),
      OpCase("InnerProduct", "spatial", "num_output=7 has_bias").In({3, 5, 3, 4}).OutShape({3, 7, 1, 1}),
      // Sums longer than 65,535: what lavapipe's loops turn in one invocation (device/vulkan/loop_rounds.h).
      OpCase("InnerProduct", "beyond_65535", "num_output=3 has_bias").In({1, 70001}).OutShape({1, 3}),
      OpCase("InnerProduct", "beyond_65535_quads", "num_output=4 has_bias").In({2, 262200}).OutShape({2, 4}),
      OpCase("InnerProduct", "axis2", "num_output=5 axis=2").In({2, 3, 13}).OutShape({2, 3, 5}),
      OpCase("InnerProduct", "long", "num_output=9 has_bias").In({1, 1001}, Regime::kRelu),
      OpCase("InnerProduct", "constant", "num_output=3")
          .In({1, 4096}, Regime::kConstant)
          .Weight("weight", {3, 4096}, Regime::kConstant),
      OpCase("InnerProduct", "one_term", "num_output=4 has_bias").In({2, 1}),
      OpCase("InnerProduct", "axis_outside", "num_output=4 has_bias axis=4").In({2, 1}).Refused("axis"),
  });
}

}  // namespace plumb
