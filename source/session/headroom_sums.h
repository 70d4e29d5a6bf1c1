// SPDX-License-Identifier: Apache-2.0
// The largest partial sums of a layer of sums of products.
#ifndef PLUMB_SESSION_HEADROOM_SUMS_H_
#define PLUMB_SESSION_HEADROOM_SUMS_H_

#include <optional>
#include <vector>

#include "plumb/graph.h"

namespace plumb {

struct LargestSums {
  double in_order = 0;      // term by term in the order of the weights (channel, then kernel), the bias first or last
  double in_order_f16 = 0;  // the same with each term and each sum rounded to 11 bits: rounding may add up
  double any_order = 0;     // the larger of all positive and of all negative terms, the bias with them
};

// Inputs in the layer's order, f32. Nothing for a layer of no sums of products.
Result<std::optional<LargestSums>> LargestSumsOf(const Layer& layer, const std::vector<Tensor>& inputs);

}  // namespace plumb

#endif  // PLUMB_SESSION_HEADROOM_SUMS_H_
