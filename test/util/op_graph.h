// SPDX-License-Identifier: Apache-2.0
// A case of the operator test as a graph of one layer with its tensors.
#ifndef PLUMB_TEST_UTIL_OP_GRAPH_H_
#define PLUMB_TEST_UTIL_OP_GRAPH_H_

#include <map>
#include <string>
#include <vector>

#include "plumb/graph.h"
#include "util/op_case.h"

namespace plumb {

struct OpInstance {
  Graph graph;                    // one layer, its resources filled
  BlobTable blobs;                // all shapes
  std::vector<Tensor> inputs;     // in layer order, constants included
  std::vector<BlobInfo> outputs;  // in layer order

  const Layer& layer() const { return graph.layers.front(); }
};

// The graph with its weights; an error when the parameters, the weights or the shapes do not fit.
Result<OpInstance> Instantiate(const OpCase& op_case);

// A tensor drawn in that regime. REQUIRES: the dtype is f32, f64, i32, i64 or bool.
Tensor DrawTensor(const OpCase::Data& data, uint64_t seed);

}  // namespace plumb

#endif  // PLUMB_TEST_UTIL_OP_GRAPH_H_
