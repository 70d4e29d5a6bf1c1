// SPDX-License-Identifier: Apache-2.0
#include "graph/model_size.h"

#include <fmt/core.h>

#include <cstring>
#include <sstream>

#include "op/core/named_params.h"
#include "plumb/tool/support.h"

namespace plumb {
namespace {

// The integers of "3" or "[1,2]"; nothing of another text.
std::vector<int64_t> IntegersIn(const std::string& text) {
  std::vector<int64_t> values;
  const bool list = !text.empty() && text.front() == '[' && text.back() == ']';
  std::istringstream in(list ? text.substr(1, text.size() - 2) : text);
  for (std::string word; std::getline(in, word, ',');) {
    if (word.empty() || word.size() > 9 || word.find_first_not_of("-0123456789") != std::string::npos) return {};
    values.push_back(std::atoll(word.c_str()));
  }
  return values;
}

std::string TextOf(const std::vector<int64_t>& values, bool list) {
  std::string text;
  for (const int64_t value : values) text += fmt::format("{}{}", text.empty() ? "" : ",", value);
  return list ? "[" + text + "]" : text;
}

Status CutNumber(const ModelSize& size, int64_t kept, Layer* layer) {
  for (const auto& [name, text] : ListParams(*layer)) {
    if (name != size.name) continue;
    std::vector<int64_t> values = IntegersIn(text);
    const size_t at = size.at < 0 ? 0 : static_cast<size_t>(size.at);
    if (at >= values.size()) break;
    values[at] = kept;
    layer->param = layer->param->Clone();
    return SetParams(fmt::format("{}={}", name, TextOf(values, size.at >= 0)), layer);
  }
  return Status::NotFound(fmt::format("layer '{}' has no parameter '{}'", layer->name, size.name));
}

}  // namespace

Result<Tensor> SliceAxis(const Tensor& tensor, int axis, int64_t begin, int64_t end) {
  Shape shape = tensor.shape();
  const int64_t outer = shape.Count(0, axis), before = shape[axis];
  const size_t block = static_cast<size_t>(shape.CountFrom(axis + 1)) * DTypeSize(tensor.dtype());
  shape[axis] = end - begin;
  PLUMB_ASSIGN_OR_RETURN(Tensor part, Tensor::Create(tensor.dtype(), shape));
  const size_t run = block * static_cast<size_t>(end - begin);
  for (int64_t i = 0; i < outer && run > 0; ++i) {
    const char* from = static_cast<const char*>(tensor.raw()) + block * static_cast<size_t>(i * before + begin);
    std::memcpy(static_cast<char*>(part.raw()) + run * static_cast<size_t>(i), from, run);
  }
  return part;
}

void AddSizesOf(const Tensor& tensor, int layer, const std::string& name, std::vector<ModelSize>* sizes) {
  for (int axis = 0; axis < tensor.shape().rank(); ++axis) {
    if (tensor.shape()[axis] > 1) sizes->push_back({ModelSize::kDim, layer, name, axis, tensor.shape()[axis]});
  }
  const bool whole = tensor.dtype() == DType::kI64 || tensor.dtype() == DType::kI32;
  if (!whole || tensor.shape().rank() > 1 || tensor.NumElements() > kMostShapeElements) return;
  for (int64_t i = 0; i < tensor.NumElements(); ++i) {
    const int64_t value = static_cast<int64_t>(tensor.ValueAt(i));
    if (value > 1) sizes->push_back({ModelSize::kElement, layer, name, static_cast<int>(i), value});
  }
}

Result<Tensor> CutConstant(const Tensor& tensor, const ModelSize& size, int64_t begin, int64_t end) {
  if (size.kind == ModelSize::kDim) return SliceAxis(tensor, size.at, begin, end);
  PLUMB_ASSIGN_OR_RETURN(Tensor changed, tensor.Clone());
  if (tensor.dtype() == DType::kI64) {
    changed.data<int64_t>()[size.at] = end - begin;
  } else {
    changed.data<int32_t>()[size.at] = static_cast<int32_t>(end - begin);
  }
  return changed;
}

std::vector<ModelSize> SizesOf(const Graph& graph) {
  std::vector<ModelSize> sizes;
  for (const auto& [name, value] : graph.constants) AddSizesOf(value, -1, name, &sizes);
  for (size_t i = 0; i < graph.layers.size(); ++i) {
    const int layer = static_cast<int>(i);
    for (const auto& [slot, value] : graph.layers[i].resources) {
      if (!value.empty()) AddSizesOf(value, layer, slot, &sizes);
    }
    for (const auto& [name, text] : ListParams(graph.layers[i])) {
      const std::vector<int64_t> values = IntegersIn(text);
      for (size_t k = 0; k < values.size(); ++k) {
        const int at = text.front() == '[' ? static_cast<int>(k) : -1;
        if (values[k] > 1) sizes.push_back({ModelSize::kNumber, layer, name, at, values[k]});
      }
    }
  }
  return sizes;
}

Status CutSize(const ModelSize& size, int64_t begin, int64_t end, Graph* graph) {
  if (size.layer < 0) {
    PLUMB_ASSIGN_OR_RETURN(graph->constants[size.name], CutConstant(graph->constants.at(size.name), size, begin, end));
    return Status::Ok();
  }
  Layer& layer = graph->layers[static_cast<size_t>(size.layer)];
  if (size.kind == ModelSize::kNumber) return CutNumber(size, end - begin, &layer);
  PLUMB_ASSIGN_OR_RETURN(layer.resources[size.name], CutConstant(layer.resources.at(size.name), size, begin, end));
  return Status::Ok();
}

}  // namespace plumb
