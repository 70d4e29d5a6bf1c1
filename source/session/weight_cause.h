// SPDX-License-Identifier: Apache-2.0
// Why a pair of constants differs, in words: exchanged, another's, scaled, transposed.
#ifndef PLUMB_SESSION_WEIGHT_CAUSE_H_
#define PLUMB_SESSION_WEIGHT_CAUSE_H_

#include <string>
#include <vector>

#include "session/weight_pairs.h"

namespace plumb {

// " (OHWI, where OIHW is expected)" behind an order of axes; of others "".
std::string WordsForAxes(const std::vector<int>& axes);

// One clause on tensor i of the original and tensor j of the converted model, which `match` does not make one.
std::string CauseOfDifference(const WeightSet& a, const WeightSet& b, const WeightPairing& pairing, size_t i, size_t j,
                              const WeightMatch& match);

}  // namespace plumb

#endif  // PLUMB_SESSION_WEIGHT_CAUSE_H_
