// SPDX-License-Identifier: Apache-2.0
// The last resort of SuggestNames: tensors that hold the same values.
#ifndef PLUMB_NAMES_VALUES_H_
#define PLUMB_NAMES_VALUES_H_

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "names/plain.h"

namespace plumb {

struct ValuedTensor {
  std::string name;
  std::vector<Tensor> runs;     // on one input after the other
  std::vector<double> largest;  // of each; PairByValue fills it
};

// (model's, other's): of the other graph's tensors `left`, those that one tensor of the model alone fits, which fits no
// other one of that graph. Constant, all-zero and tiny tensors never do.
std::vector<std::pair<std::string, std::string>> PairByValue(std::vector<ValuedTensor> model,
                                                             std::vector<ValuedTensor> other,
                                                             const std::set<std::string>& left);

// Of `tensors`, those of as many elements as one of `counts`, each blob once, run by NAIVE on `inputs`.
Result<std::vector<ValuedTensor>> RunForValues(const PlainGraph& plain, const std::vector<std::string>& tensors,
                                               const std::set<int64_t>& counts,
                                               const std::vector<std::map<std::string, Tensor>>& inputs);
// Of a dump, or what else holds tensors under names: those that bear the names of `tensors`.
Result<std::vector<ValuedTensor>> ReadForValues(const std::string& path, const std::vector<std::string>& tensors);

}  // namespace plumb

#endif  // PLUMB_NAMES_VALUES_H_
