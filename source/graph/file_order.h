// SPDX-License-Identifier: Apache-2.0
// Blobs whose axes stand in another order than the source model's tensors (Graph::file_axes), and back.
#ifndef PLUMB_GRAPH_FILE_ORDER_H_
#define PLUMB_GRAPH_FILE_ORDER_H_

#include <string>
#include <vector>

#include "plumb/graph.h"

namespace plumb {

// The tensor with its axes in another order: axis i of the result is axis order[i].
Result<Tensor> Reordered(const Tensor& tensor, const std::vector<int>& order);

// The axes of the model's tensor as axes of the blob; null: they are the same.
const std::vector<int>* FileAxes(const Graph& graph, const std::string& blob);
// What the model says of a blob's shape.
Shape FileShape(const Graph& graph, const std::string& blob, const Shape& shape);
// Where the model's tensor has what stands at that place of a blob of that shape.
int64_t FilePlace(const Graph& graph, const std::string& blob, const Shape& shape, int64_t place);
// A blob's values in the model's order, and the model's in the blob's.
Result<Tensor> ToFileOrder(const Graph& graph, const std::string& blob, const Tensor& tensor);
Result<Tensor> FromFileOrder(const Graph& graph, const std::string& blob, const Tensor& tensor);

}  // namespace plumb

#endif  // PLUMB_GRAPH_FILE_ORDER_H_
