// SPDX-License-Identifier: Apache-2.0
// First products of an int8 subject: those that the network's inputs reach without another product between. Tools round
// the weights of these alone to half of their range where all others have 8 bits, so that pairs of 8-bit products do
// not saturate at 16 bits on x86 without VNNI (NNCF's overflow_fix, its default). That is healthy; anywhere else a
// layer whose weights differ from its like's is wrong.
#ifndef PLUMB_CHECK_NUMBERS_FIRST_PRODUCTS_H_
#define PLUMB_CHECK_NUMBERS_FIRST_PRODUCTS_H_

#include "check/numbers/int8_weights.h"

namespace plumb {

// `held` with weights of half of the range for those first products that are beyond the weights of their like: where
// the layer is aligned by these and by no weights of 8 bits, and R is a third of what the best of those leave, or less.
// `judge` judges the named layers with such weights.
Result<Int8WeightsOf> FindHalfOfRange(const Graph& graph, const RunReport& run, const Int8WeightsOf& held,
                                      const JudgeLayers& judge);

}  // namespace plumb

#endif  // PLUMB_CHECK_NUMBERS_FIRST_PRODUCTS_H_
