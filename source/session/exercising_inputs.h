// SPDX-License-Identifier: Apache-2.0
// Network inputs drawn to exercise the weakest layers: of candidates that are drawn in many ways, the one behind which
// dead channels, limits that are always reached and constant values hide least (check/judge/exercised.h).
#ifndef PLUMB_SESSION_EXERCISING_INPUTS_H_
#define PLUMB_SESSION_EXERCISING_INPUTS_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "graph/random_inputs.h"
#include "plumb/graph.h"

namespace plumb {

struct ExercisingInputs {
  std::map<std::string, Tensor> values;
  std::string drawn;  // "times 4, its channels shifted apart": what became of every float input; "": nothing
  std::string found;  // "of 24 drawn, ...": which layer is exercised least, and with the plain inputs
};

// `plain`: every network input as it is generated without; those of f32 that `fixed` does not name are changed. By
// `layers` (names or indexes; empty: all) alone is judged which candidate is best. Runs the reference once for each of
// 6 to 32 candidates, fewer of a large network.
Result<ExercisingInputs> DrawExercisingInputs(const Graph& graph, const BlobTable& blobs,
                                              const std::map<std::string, Tensor>& plain,
                                              const std::vector<std::string>& fixed,
                                              const std::vector<std::string>& layers, uint64_t seed);

}  // namespace plumb

#endif  // PLUMB_SESSION_EXERCISING_INPUTS_H_
