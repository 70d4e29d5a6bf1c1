// SPDX-License-Identifier: Apache-2.0
// Small networks for the device tests, built layer by layer with random weights, and how to run them.
#ifndef PLUMB_TEST_UTIL_NETWORK_BUILDER_H_
#define PLUMB_TEST_UTIL_NETWORK_BUILDER_H_

#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "op/convolution.h"
#include "op/inner_product.h"
#include "op/pooling.h"
#include "plumb/plumb.h"

namespace plumb {

inline Tensor Random(const Shape& shape, uint32_t seed, float scale) {
  Tensor tensor = Tensor::Create(DType::kF32, shape).value();
  std::mt19937 engine(seed);
  for (int64_t i = 0; i < tensor.NumElements(); ++i) {
    tensor.data<float>()[i] = scale * (static_cast<float>(engine() >> 8) / 8388608.0f - 1);
  }
  return tensor;
}

// Builds a graph layer by layer; every method returns the new blob's name.
class Builder {
 public:
  Builder(int64_t batch, int64_t channels, int64_t size) {
    graph->source = "test";
    graph->inputs = {{"x", DType::kF32, {batch, channels, size, size}}};
  }

  std::string Conv(const std::string& in, int from, int to, int kernel, int stride = 1, int group = 1,
                   int activation = 0) {
    ConvolutionParam p;
    p.group = group, p.in_channels_per_group = from / group, p.out_channels = to, p.kernel_h = p.kernel_w = kernel;
    p.stride_h = p.stride_w = stride, p.bias = true, p.pad_type = kPadSame, p.activation = activation;
    Layer& layer = Add("Convolution", {in}, std::make_shared<ConvolutionParam>(p));
    const float fan_in = static_cast<float>(from / group * kernel * kernel);
    layer.resources["weight"] = Random({to, from / group, kernel, kernel}, Seed(), std::sqrt(6 / fan_in));
    layer.resources["bias"] = Random({to}, Seed(), 0.1f);
    return layer.outputs[0];
  }
  std::string Simple(const char* type, std::vector<std::string> in) {
    return Add(type, std::move(in), nullptr).outputs[0];
  }
  std::string Constant(const char* type, const std::string& in, int64_t channels, float scale) {
    Layer& layer = Add(type, {in}, nullptr);
    layer.resources["element"] = Random({channels}, Seed(), scale);
    return layer.outputs[0];
  }
  std::string Pool(const std::string& in, int type, int kernel, int stride) {
    PoolingParam p;
    p.pool_type = type, p.kernel_h = p.kernel_w = kernel, p.stride_h = p.stride_w = stride, p.pad_type = kPadSame;
    return Add("Pooling", {in}, std::make_shared<PoolingParam>(p)).outputs[0];
  }
  std::string FullyConnected(const std::string& in, int64_t from, int to) {
    InnerProductParam p;
    p.num_output = to, p.has_bias = true;
    Layer& layer = Add("InnerProduct", {in}, std::make_shared<InnerProductParam>(p));
    layer.resources["weight"] = Random({to, from}, Seed(), std::sqrt(6 / static_cast<float>(from)));
    layer.resources["bias"] = Random({to}, Seed(), 0.1f);
    return layer.outputs[0];
  }

  std::shared_ptr<Graph> graph = std::make_shared<Graph>();

 private:
  uint32_t Seed() { return static_cast<uint32_t>(graph->layers.size() * 10 + graph->layers.back().resources.size()); }

  Layer& Add(const std::string& type, std::vector<std::string> in, std::shared_ptr<OpParam> param) {
    Layer layer;
    const OpDef* op = FindOp(type);
    layer.kind = op->kind, layer.type = type, layer.index = static_cast<int>(graph->layers.size());
    layer.name = "layer" + std::to_string(layer.index);
    layer.inputs = std::move(in), layer.outputs = {"blob" + std::to_string(layer.index)};
    layer.param = param != nullptr ? param : op->make_param();
    graph->layers.push_back(layer);
    graph->outputs = layer.outputs;
    return graph->layers.back();
  }
};

}  // namespace plumb

#endif  // PLUMB_TEST_UTIL_NETWORK_BUILDER_H_
