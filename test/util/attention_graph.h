// SPDX-License-Identifier: Apache-2.0
// Attention as exporters write it, in all its forms: graphs for the tests of the kernels and of the verdict.
#ifndef PLUMB_TEST_UTIL_ATTENTION_GRAPH_H_
#define PLUMB_TEST_UTIL_ATTENTION_GRAPH_H_

#include <cmath>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "op/binary.h"
#include "op/permute.h"
#include "op/softmax.h"
#include "util/make_layer.h"
#include "util/network_builder.h"

namespace plumb {

struct AttentionForm {
  std::vector<int64_t> batch = {1, 2};  // the dims in front of matrices: batch, heads
  int64_t rows = 16, keys = 16, size = 8;
  int64_t value_size = 0;          // 0: size
  std::vector<int64_t> key_batch;  // of keys and values where they have other dims in front
  bool turned = false;             // the keys come as columns, without a Permute
  char scale = '*';                // '*': Mul, '/': Div, ' ': none
  bool scale_is_blob = false;      // else the layer's own
  std::vector<int64_t> mask;       // its shape; empty: none
  bool mask_is_input = false;      // else the layer's own
  float hidden = -1e4f;            // what the mask adds to a key that it hides
  int axis = -1;                   // of Softmax
  int64_t values() const { return value_size == 0 ? size : value_size; }
};

// Hides a key in about three of ten places, never the first; of one value per row, whole rows. Causal: the keys behind
// the row.
inline Tensor MaskOf(const std::vector<int64_t>& shape, float hidden, bool causal) {
  Tensor mask = Random(Shape(shape), 31, 1);
  const int64_t keys = shape.back(), rows = shape.size() < 2 ? 1 : shape[shape.size() - 2];
  for (int64_t i = 0; i < mask.NumElements(); ++i) {
    float& value = mask.data<float>()[i];
    const bool behind = causal && rows > 1 && i % keys > i / keys % rows;
    const bool hides = behind || (!causal && value > 0.4f && (keys == 1 || i % keys > 0));
    value = hides ? hidden : 0.0f;
  }
  return mask;
}

inline std::shared_ptr<Graph> AttentionGraph(const AttentionForm& form, bool causal = false) {
  auto graph = std::make_shared<Graph>();
  graph->source = "attention";
  const auto shape = [&](std::vector<int64_t> dims, int64_t a, int64_t b) {
    dims.insert(dims.end(), {a, b});
    return Shape(dims);
  };
  const std::vector<int64_t>& key_batch = form.key_batch.empty() ? form.batch : form.key_batch;
  const bool turned = form.turned;
  graph->inputs = {
      {"q", DType::kF32, shape(form.batch, form.rows, form.size)},
      {"k", DType::kF32, turned ? shape(key_batch, form.size, form.keys) : shape(key_batch, form.keys, form.size)},
      {"v", DType::kF32, shape(key_batch, form.keys, form.values())}};
  std::string last = "k";
  const auto add = [&](OpKind kind, const std::string& name, const std::vector<std::string>& inputs) -> Layer& {
    graph->layers.push_back(MakeLayer(kind, name, inputs, {name}));
    graph->layers.back().index = static_cast<int>(graph->layers.size()) - 1;
    last = name;
    return graph->layers.back();
  };
  if (!turned) {
    auto param = std::make_shared<PermuteParam>();
    param->orders.resize(key_batch.size() + 2);
    std::iota(param->orders.begin(), param->orders.end(), 0);
    std::swap(param->orders[key_batch.size()], param->orders[key_batch.size() + 1]);
    add(OpKind::kPermute, "turn", {"k"}).param = param;
  }
  add(OpKind::kMatMul, "product", {"q", last});
  const float root = std::sqrt(static_cast<float>(form.size));
  if (form.scale != ' ') {
    Tensor by = Tensor::Create(DType::kF32, {1}).value();
    by.data<float>()[0] = form.scale == '/' ? root : 1 / root;
    if (form.scale_is_blob) graph->constants["by"] = by;
    Layer& layer = add(form.scale == '/' ? OpKind::kDiv : OpKind::kMul, "scale",
                       form.scale_is_blob ? std::vector<std::string>{last, "by"} : std::vector<std::string>{last});
    if (!form.scale_is_blob) layer.resources["element"] = by;
  }
  if (!form.mask.empty()) {
    if (form.mask_is_input) graph->inputs.push_back({"mask", DType::kF32, Shape(form.mask)});
    Layer& layer = add(OpKind::kAdd, "masked",
                       form.mask_is_input ? std::vector<std::string>{"mask", last} : std::vector<std::string>{last});
    if (!form.mask_is_input) layer.resources["element"] = MaskOf(form.mask, form.hidden, causal);
  }
  auto param = std::make_shared<SoftmaxParam>();
  param->axis = form.axis;
  add(OpKind::kSoftmax, "weights", {last}).param = param;
  add(OpKind::kMatMul, "y", {last, "v"});
  graph->outputs = {"y"};
  return graph;
}

// Queries and keys of some size each, so that some keys count much more than others.
inline std::map<std::string, Tensor> AttentionInputs(const Graph& graph, const AttentionForm& form, float size = 2,
                                                     bool causal = false) {
  std::map<std::string, Tensor> inputs;
  uint32_t seed = 40;
  for (const GraphInput& input : graph.inputs) {
    inputs[input.name] =
        input.name == "mask" ? MaskOf(form.mask, form.hidden, causal) : Random(input.shape, ++seed, size);
  }
  return inputs;
}

}  // namespace plumb

#endif  // PLUMB_TEST_UTIL_ATTENTION_GRAPH_H_
