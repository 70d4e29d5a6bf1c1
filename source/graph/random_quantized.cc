// SPDX-License-Identifier: Apache-2.0
#include "graph/random_quantized.h"

#include <algorithm>
#include <cmath>

#include "op/core/op.h"

namespace plumb {
namespace {

constexpr float kLargestInt8 = 127;

Tensor OneFloat(float value) {
  Tensor tensor = Tensor::Zeros(DType::kF32, Shape{1}).value();
  tensor.data<float>()[0] = value;
  return tensor;
}

// The smallest power of two of which 127 are six times the root of the mean square.
float StepFor(double mean_square) {
  constexpr double kRange = 6.0 / kLargestInt8;
  int exponent = 0;
  std::frexp(kRange * kRange * mean_square, &exponent);
  return std::ldexp(1.0F, (exponent + 1) >> 1);
}

bool KeepsScale(OpKind kind) {
  return kind == OpKind::kPooling || kind == OpKind::kReLU || kind == OpKind::kReshape || kind == OpKind::kPermute ||
         kind == OpKind::kUpsample;
}

// One scale for each entry of the first axis, or one for all.
int64_t ScalesOf(const Layer& layer, const Tensor& weight) {
  const bool one = layer.dynamic_range_quantized && layer.kind == OpKind::kInnerProduct;
  return one ? 1 : weight.shape()[0];
}

struct Int8Weight {
  Tensor integers, scale;
};

Result<Int8Weight> InInt8(const Tensor& weight, int64_t scales) {
  Int8Weight result;
  PLUMB_ASSIGN_OR_RETURN(result.integers, Tensor::Create(DType::kI8, weight.shape()));
  PLUMB_ASSIGN_OR_RETURN(result.scale, Tensor::Create(DType::kF32, Shape{scales}));
  const int64_t size = weight.NumElements() / scales;
  for (int64_t s = 0; s < scales; ++s) {
    const float* values = weight.data<float>() + s * size;
    float largest = 0;
    for (int64_t i = 0; i < size; ++i) largest = std::max(largest, std::fabs(values[i]));
    const float step = largest > 0 ? largest / kLargestInt8 : 1;
    result.scale.data<float>()[s] = step;
    for (int64_t i = 0; i < size; ++i) {
      const float whole = std::clamp(std::nearbyint(values[i] / step), -kLargestInt8, kLargestInt8);
      result.integers.data<int8_t>()[s * size + i] = static_cast<int8_t>(whole);
    }
  }
  return result;
}

// TNN stores the weights' scales times the input's, and a bias in units of the product.
Status ScaleByInput(float input_scale, Layer* layer) {
  float* scale = layer->resources["weight_scale"].data<float>();
  const int64_t scales = layer->resources["weight_scale"].NumElements();
  for (int64_t s = 0; s < scales; ++s) scale[s] *= input_scale;
  PLUMB_ASSIGN_OR_RETURN(layer->resources["weight_zero_point"], Tensor::Zeros(DType::kI8, Shape{scales}));
  const Tensor* drawn = layer->Resource("bias");
  if (drawn == nullptr) return Status::Ok();
  PLUMB_ASSIGN_OR_RETURN(Tensor bias, Tensor::Create(DType::kI32, drawn->shape()));
  for (int64_t i = 0; i < bias.NumElements(); ++i)
    bias.data<int32_t>()[i] = static_cast<int32_t>(std::nearbyint(drawn->data<float>()[i] / scale[i % scales]));
  layer->resources["bias"] = std::move(bias);
  return Status::Ok();
}

}  // namespace

void ChooseBlobScales(const MeanSquares& mean_squares, const Layer& layer, Graph* graph) {
  const auto choose = [&](const std::string& blob, float step) {
    if (graph->constants.count(blob) == 0) graph->blob_scales.insert({blob, {OneFloat(step), {}, {}}});
  };
  for (const std::string& blob : layer.inputs) choose(blob, StepFor(mean_squares.OfBlob(blob)));
  const auto input = graph->blob_scales.find(layer.inputs.empty() ? std::string() : layer.inputs[0]);
  const bool kept = KeepsScale(layer.kind) && input != graph->blob_scales.end();
  const float step = kept ? input->second.scale.data<float>()[0] : 0;
  for (const std::string& blob : layer.outputs) choose(blob, kept ? step : StepFor(mean_squares.OfBlob(blob)));
}

Status QuantizeDrawn(const Graph& graph, Layer* layer) {
  if (!layer->quantized && !layer->dynamic_range_quantized) return Status::Ok();
  const Tensor* drawn = layer->Resource("weight");
  if (drawn == nullptr || drawn->dtype() != DType::kF32 || drawn->NumElements() == 0) return Status::Ok();
  PLUMB_ASSIGN_OR_RETURN(Int8Weight made, InInt8(*drawn, ScalesOf(*layer, *drawn)));
  layer->resources["weight"] = std::move(made.integers);
  layer->resources["weight_scale"] = std::move(made.scale);
  if (layer->dynamic_range_quantized) return Status::Ok();
  return ScaleByInput(graph.blob_scales.at(layer->inputs[0]).scale.data<float>()[0], layer);
}

}  // namespace plumb
