// SPDX-License-Identifier: Apache-2.0
// A runtime that quantises a float model by itself, simulated: weights of products rounded to int8, every float tensor
// to a grid of at most 256 steps over its range. Layers are computed by the reference, on what the layers before them
// stored.
#ifndef PLUMB_TEST_UTIL_INT8_RUNTIME_H_
#define PLUMB_TEST_UTIL_INT8_RUNTIME_H_

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "plumb/graph.h"
#include "reference/core/reference_op.h"

namespace plumb {

struct Int8Runtime {
  bool per_channel = true;      // weights: a step per output channel
  std::string tensor_wise;      // an operator whose weights have one step per tensor nevertheless
  double levels = 127;          // of the largest weight; 127.5: -128 ... 127 of them
  bool zero_point = false;      // `levels` of them from the smallest weight to the largest
  double stretch = 1;           // of the weights' steps: another scale than max|w| / 127
  bool asymmetric = false;      // blobs: u8 with a zero point in place of symmetric i8
  double clip = 1;              // share of the range that the grid covers, of layers' outputs
  bool float_output = false;    // the last layer's output stays in f32
  std::string float_output_of;  // and that of this layer
  std::string kept;             // a layer whose weights stay as they are

  // Per `groups` runs of equal length.
  void RoundWeights(int64_t groups, Tensor* weights) const {
    const int64_t run = weights->NumElements() / groups;
    for (int64_t g = 0; g < groups; ++g) {
      float *first = weights->data<float>() + g * run, *last = first + run;
      const double low = std::min(0.0, static_cast<double>(*std::min_element(first, last)));
      const double high = std::max(0.0, static_cast<double>(*std::max_element(first, last)));
      const double range = zero_point ? high - low : std::max(high, -low), step = stretch * range / levels;
      const double zero = zero_point ? std::nearbyint(-low / step) : 0;
      const double least = zero_point ? 0 : -std::ceil(levels),
                   most = zero_point ? levels : std::min(std::ceil(levels), 127.0);
      for (float* w = first; w < last && step > 0; ++w) {
        const double q = std::clamp(std::nearbyint(static_cast<double>(*w) / step) + zero, least, most);
        *w = static_cast<float>((q - zero) * step);
      }
    }
  }

  Tensor Stored(const Tensor& exact, double covered) const {
    Tensor stored = exact.Clone().value();
    float* x = stored.data<float>();
    const int64_t count = stored.NumElements();
    const double low = covered * std::min(0.0, static_cast<double>(*std::min_element(x, x + count)));
    const double high = covered * std::max(0.0, static_cast<double>(*std::max_element(x, x + count)));
    const double step = asymmetric ? (high - low) / 255 : std::max(high, -low) / 127;
    const double zero = asymmetric ? std::nearbyint(-low / step) : 127, last = asymmetric ? 255 : 254;
    for (int64_t i = 0; i < count && step > 0; ++i) {
      const double q = std::clamp(std::nearbyint(static_cast<double>(x[i]) / step) + zero, 0.0, last);
      x[i] = static_cast<float>((q - zero) * step);
    }
    return stored;
  }

  // Every blob of the graph. `graph` may have faults.
  std::map<std::string, Tensor> Run(const Graph& graph, const std::map<std::string, Tensor>& inputs) const {
    std::map<std::string, Tensor> blobs = inputs, exact;
    for (const auto& [name, input] : inputs) exact[name] = Stored(input, 1);
    const BlobTable infos = InferShapes(graph).value();
    for (const Layer& layer : graph.layers) {
      Layer quantised = layer;
      const auto weight = quantised.resources.find("weight");
      if (weight != quantised.resources.end() && layer.name != kept) {
        weight->second = weight->second.Clone().value();
        const bool groups = per_channel && layer.type != tensor_wise;
        RoundWeights(groups ? weight->second.shape()[0] : 1, &weight->second);
      }
      Tensor output = Tensor::Create(DType::kF32, infos.at(layer.outputs[0]).shape).value();
      ReferenceArgs args{quantised, {}, {&output}};
      for (const std::string& input : layer.inputs) args.inputs.push_back(&exact.at(input));
      if (!GetReferenceOp(layer.kind).run(args).ok()) return {};
      const bool keep = (float_output && &layer == &graph.layers.back()) || layer.name == float_output_of;
      blobs[layer.outputs[0]] = exact[layer.outputs[0]] = keep ? output : Stored(output, clip);
    }
    return blobs;
  }
};

}  // namespace plumb

#endif  // PLUMB_TEST_UTIL_INT8_RUNTIME_H_
