// SPDX-License-Identifier: Apache-2.0
// How a subject's runtime rounded the weights of products to int8. Nobody dumps scales, so they are found: what
// explains most of an operator's layers holds for all of them, because a layer that differs from its like is a fault.
#ifndef PLUMB_CHECK_NUMBERS_INT8_WEIGHTS_H_
#define PLUMB_CHECK_NUMBERS_INT8_WEIGHTS_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "plumb/check.h"

namespace plumb {

const Int8Weights& WeightsOf(const Int8WeightsOf& all, const Layer& layer);

// A sentence's part for the report, of operators.
std::string Describe(const Int8WeightsOf& weights);

struct RoundedLayer {
  bool rounded = false;           // its weights were
  const Layer* folded = nullptr;  // the batch normalisation behind it that was folded into them before
  double input_step = 0;          // of its first input's grid; 0: not known
};

// By the index of a product: what rounding to the other side adds to those of its weights that lie next to a tie.
using TiedWeights = std::map<int, Tensor>;

// Replaces the weights of products by their int8 values; unknown ones stay. `layers`: of each of the graph's.
Result<TiedWeights> RoundWeights(const Int8WeightsOf& how, const std::vector<RoundedLayer>& layers, Graph* graph);

// Steps of a run, by the operator of their product.
// Whether weights of another kind may mend it: wrong, or grey by the size of the error.
bool IsBeyondWeights(const LayerReport& layer);
struct ProductSteps {
  std::vector<std::string> healthy, beyond;  // their names; beyond: wrong, or grey by the size of the error
  size_t judged() const { return healthy.size() + beyond.size(); }
};
std::map<std::string, ProductSteps> ProductStepsOf(const Graph& graph, const RunReport& run);

// Where products are beyond the usual weights: of each operator what explains most of a few of these and fits no worse
// where the usual ones do, or some of these and fits better there. `judge` judges the named layers with such weights.
using JudgeLayers =
    std::function<Result<RunReport>(const Int8WeightsOf& weights, const std::vector<std::string>& layers)>;
Result<Int8WeightsOf> FindInt8Weights(const Graph& graph, const RunReport& usual, const JudgeLayers& judge);

// Where most of a run's products, and two at least, are beyond what was found: unknown ones of the operators that are.
Int8WeightsOf UnknownWhereMostAreBeyond(const Graph& graph, const RunReport& run, Int8WeightsOf found);

}  // namespace plumb

#endif  // PLUMB_CHECK_NUMBERS_INT8_WEIGHTS_H_
