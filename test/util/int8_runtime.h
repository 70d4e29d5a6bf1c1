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
  bool per_channel = true;    // weights: a step per output channel
  double levels = 127;        // of the largest weight
  double stretch = 1;         // of the weights' steps: another scale than max|w| / 127
  bool asymmetric = false;    // blobs: u8 with a zero point in place of symmetric i8
  double clip = 1;            // share of the range that the grid covers, of layers' outputs
  bool float_output = false;  // the last layer's output stays in f32

  // values rounded to steps of largest / levels, per `groups` runs of equal length.
  void RoundWeights(int64_t groups, Tensor* weights) const {
    float* w = weights->data<float>();
    const int64_t run = weights->NumElements() / groups;
    for (int64_t g = 0; g < groups; ++g) {
      double largest = 0;
      for (int64_t i = g * run; i < (g + 1) * run; ++i)
        largest = std::max(largest, std::fabs(static_cast<double>(w[i])));
      const double step = stretch * largest / levels;
      for (int64_t i = g * run; i < (g + 1) * run && step > 0; ++i)
        w[i] = static_cast<float>(std::nearbyint(static_cast<double>(w[i]) / step) * step);
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
      if (weight != quantised.resources.end()) {
        weight->second = weight->second.Clone().value();
        RoundWeights(per_channel ? weight->second.shape()[0] : 1, &weight->second);
      }
      Tensor output = Tensor::Create(DType::kF32, infos.at(layer.outputs[0]).shape).value();
      ReferenceArgs args{quantised, {}, {&output}};
      for (const std::string& input : layer.inputs) args.inputs.push_back(&exact.at(input));
      if (!GetReferenceOp(layer.kind).run(args).ok()) return {};
      const bool keep = float_output && &layer == &graph.layers.back();
      blobs[layer.outputs[0]] = exact[layer.outputs[0]] = keep ? output : Stored(output, clip);
    }
    return blobs;
  }
};

}  // namespace plumb

#endif  // PLUMB_TEST_UTIL_INT8_RUNTIME_H_
