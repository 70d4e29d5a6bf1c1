// SPDX-License-Identifier: Apache-2.0
// Sizes that stand in a model: dims of its constants, and integers that may stand for a dim. Who makes a model smaller
// cuts some of them together.
#ifndef PLUMB_GRAPH_MODEL_SIZE_H_
#define PLUMB_GRAPH_MODEL_SIZE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "plumb/graph.h"

namespace plumb {

struct ModelSize {
  enum Kind {
    kDim,      // dim `at` of a constant
    kElement,  // element `at` of an integer constant: the shape that a Reshape reads
    kNumber    // an integer parameter; `at`: its place in a list, or -1
  };
  Kind kind = kDim;
  int layer = -1;    // position of the layer (the node) that has it; -1: a constant of the graph
  std::string name;  // of the constant, the slot, the parameter
  int at = 0;
  int64_t size = 0;
};

constexpr int64_t kMostShapeElements = 16;  // of an integer constant whose elements may be dims

// Elements [begin, end) along the axis. REQUIRES: they are there.
Result<Tensor> SliceAxis(const Tensor& tensor, int axis, int64_t begin, int64_t end);

// The dims of a constant, and of a short one of integers its elements. Those of 1 are left out.
void AddSizesOf(const Tensor& tensor, int layer, const std::string& name, std::vector<ModelSize>* sizes);
// What becomes of the constant when this size is cut to [begin, end).
Result<Tensor> CutConstant(const Tensor& tensor, const ModelSize& size, int64_t begin, int64_t end);

// All sizes of a graph's constants, weights and parameters.
std::vector<ModelSize> SizesOf(const Graph& graph);
// Cuts one of them; the graph may not fit together until others are cut, too (InferShapes says so).
Status CutSize(const ModelSize& size, int64_t begin, int64_t end, Graph* graph);

}  // namespace plumb

#endif  // PLUMB_GRAPH_MODEL_SIZE_H_
