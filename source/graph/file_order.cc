// SPDX-License-Identifier: Apache-2.0
#include "graph/file_order.h"

#include <cstring>

namespace plumb {

Result<Tensor> Reordered(const Tensor& tensor, const std::vector<int>& order) {
  const Shape& from = tensor.shape();
  const auto rank = order.size();
  std::vector<int64_t> dims, strides(rank, 0);
  for (size_t i = 0; i < rank; ++i) {
    dims.push_back(from[order[i]]);
    strides[i] = from.CountFrom(order[i] + 1);
  }
  PLUMB_ASSIGN_OR_RETURN(Tensor result, Tensor::Create(tensor.dtype(), Shape(dims)));
  const size_t size = DTypeSize(tensor.dtype());
  const auto* src = static_cast<const char*>(tensor.raw());
  auto* dst = static_cast<char*>(result.raw());
  std::vector<int64_t> at(rank, 0);
  int64_t offset = 0;
  for (int64_t i = 0; i < result.NumElements(); ++i, dst += size) {
    std::memcpy(dst, src + static_cast<size_t>(offset) * size, size);
    for (size_t k = rank; k-- > 0;) {
      offset += strides[k];
      if (++at[k] < dims[k]) break;
      offset -= strides[k] * dims[k];
      at[k] = 0;
    }
  }
  return result;
}

const std::vector<int>* FileAxes(const Graph& graph, const std::string& blob) {
  const auto it = graph.file_axes.find(blob);
  return it == graph.file_axes.end() ? nullptr : &it->second;
}

Shape FileShape(const Graph& graph, const std::string& blob, const Shape& shape) {
  const std::vector<int>* axes = FileAxes(graph, blob);
  if (axes == nullptr || static_cast<int>(axes->size()) != shape.rank()) return shape;
  std::vector<int64_t> dims;
  for (const int axis : *axes) dims.push_back(shape[axis]);
  return Shape(std::move(dims));
}

int64_t FilePlace(const Graph& graph, const std::string& blob, const Shape& shape, int64_t place) {
  const std::vector<int>* axes = FileAxes(graph, blob);
  if (axes == nullptr || static_cast<int>(axes->size()) != shape.rank()) return place;
  int64_t there = 0;
  for (const int axis : *axes) there = there * shape[axis] + place / shape.CountFrom(axis + 1) % shape[axis];
  return there;
}

Result<Tensor> ToFileOrder(const Graph& graph, const std::string& blob, const Tensor& tensor) {
  const std::vector<int>* axes = FileAxes(graph, blob);
  if (axes == nullptr || static_cast<int>(axes->size()) != tensor.shape().rank()) return tensor;
  return Reordered(tensor, *axes);
}

Result<Tensor> FromFileOrder(const Graph& graph, const std::string& blob, const Tensor& tensor) {
  const std::vector<int>* axes = FileAxes(graph, blob);
  if (axes == nullptr || static_cast<int>(axes->size()) != tensor.shape().rank()) return tensor;
  std::vector<int> back(axes->size());
  for (size_t i = 0; i < axes->size(); ++i) back[static_cast<size_t>((*axes)[i])] = static_cast<int>(i);
  return Reordered(tensor, back);
}

}  // namespace plumb
