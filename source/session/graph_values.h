// SPDX-License-Identifier: Apache-2.0
// Values that blobs of a graph have while a device runs it.
#ifndef PLUMB_SESSION_GRAPH_VALUES_H_
#define PLUMB_SESSION_GRAPH_VALUES_H_

#include <map>
#include <memory>
#include <set>
#include <string>

#include "plumb/network.h"

namespace plumb {

// Adds to `known` the blobs that it lacks: as the network has them (read before written, where a reader sees something
// else), else as NAIVE has them, which sees every blob; network inputs as they are given. `network` may be null.
Result<std::map<std::string, Tensor>> GraphValues(const std::shared_ptr<const Graph>& graph,
                                                  const std::map<std::string, Tensor>& inputs, Network* network,
                                                  const std::set<std::string>& blobs,
                                                  std::map<std::string, Tensor> known);
// Whether it has all of them.
bool KnowsAll(const std::map<std::string, Tensor>& known, const std::set<std::string>& blobs);

}  // namespace plumb

#endif  // PLUMB_SESSION_GRAPH_VALUES_H_
