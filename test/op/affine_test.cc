// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "util/op_dtypes.h"

namespace plumb {

std::vector<OpCase> affine_cases() {
  return WithDoubles({
      OpCase("BatchNormCxx", "values")
          .In({1, 2, 2}, {1, 2, 3, 4})
          .Weight("scale", {2}, {2, 10})
          .Weight("bias", {2}, {0.5, -1})
          .Out({2.5, 4.5, 29, 39}),
      OpCase("BatchNormCxx", "no_bias").In({1, 2, 1, 1}, {3, 4}).Weight("scale", {2}, {2, 10}).Out({6, 40}),
      OpCase("BatchNormCxx", "shared")
          .In({1, 2, 1, 1}, {3, 4})
          .Weight("scale", {1}, {2})
          .Weight("bias", {1}, {1})
          .Out({7, 9}),
      OpCase("BatchNormCxx", "specials")
          .In({1, 1, 3}, {NAN, INFINITY, -INFINITY})
          .Weight("scale", {1}, {-2})
          .Weight("bias", {1}, {1})
          .Out({NAN, -INFINITY, INFINITY}),
      OpCase("BatchNormCxx", "rank_2").In({3, 17}),
      OpCase("BatchNormCxx", "rank_4").In({2, 19, 7, 9}),
      OpCase("BatchNormCxx", "rank_5").In({1, 3, 2, 5, 3}),
      OpCase("BatchNormCxx", "zeros").In({2, 5, 7}, Regime::kZeros),
      OpCase("BatchNormCxx", "offset").In({2, 5, 7, 3}, Regime::kOffset),
      OpCase("BatchNormCxx", "wide").In({2, 5, 7, 3}, Regime::kWide),
      OpCase("BatchNormCxx", "empty").In({0, 5, 7}).OutShape({0, 5, 7}),
      OpCase("BatchNormCxx", "i32").In({1, 2}, Regime::kInts, DType::kI32).Refused("expects a float blob"),
      OpCase("Scale", "channels", "bias_term")
          .In({1, 2, 2}, {1, 2, 3, 4})
          .Weight("scale", {2}, {2, 10})
          .Weight("bias", {2}, {0.5, -1})
          .Out({2.5, 4.5, 29, 39}),
      OpCase("Scale", "no_bias").In({1, 2, 2}, {1, 2, 3, 4}).Weight("scale", {2}, {2, 10}).Out({2, 4, 30, 40}),
      OpCase("Scale", "axis_0", "axis=0").In({2, 2}, {1, 2, 3, 4}).Weight("scale", {2}, {2, 10}).Out({2, 4, 30, 40}),
      OpCase("Scale", "to_the_end", "num_axes=-1")
          .In({1, 2, 2}, {1, 2, 3, 4})
          .Weight("scale", {2, 2}, {1, 10, 100, 1000})
          .Out({1, 20, 300, 4000}),
      OpCase("Scale", "last_axis", "axis=-1 bias_term").In({2, 3, 7}),
      OpCase("Scale", "two_axes", "num_axes=2 bias_term").In({2, 3, 5, 7}),
      OpCase("Scale", "rank_4", "bias_term").In({2, 19, 7, 9}),
      OpCase("Scale", "axis_outside", "axis=2 num_axes=3").In({2, 3, 5, 7}).Refused("outside the input"),
      OpCase("BiasAdd", "values").In({1, 2, 2}, {1, 2, 3, 4}).Weight("bias", {2}, {0.5, -1}).Out({1.5, 2.5, 2, 3}),
      OpCase("BiasAdd", "rank_2").In({3, 17}),
      OpCase("BiasAdd", "rank_4").In({2, 19, 7, 9}),
      OpCase("BiasAdd", "offset").In({2, 5, 7}, Regime::kOffset),
  });
}

}  // namespace plumb
