// SPDX-License-Identifier: Apache-2.0
// Formats of few bits in which runtimes keep weights: f16, bf16, fp8, int8 and int4 per tensor, per
// channel or in groups, each with the scale that a converter would choose.
#ifndef PLUMB_CHECK_NUMBERS_WEIGHT_FORMATS_H_
#define PLUMB_CHECK_NUMBERS_WEIGHT_FORMATS_H_

#include <string>
#include <vector>

#include "check/numbers/value_range.h"
#include "plumb/check.h"
#include "plumb/graph.h"

namespace plumb {

struct WeightFormat {
  std::string words;  // "int4 in groups of 32 with a zero point"
  // Values that share a scale: all, those of one output channel, or so many of these one after the other; kRun: as many
  // as a channel has, as they lie in memory, where deconvolutions have input channels first.
  enum Block { kTensor = 0, kChannel = -1, kRun = -2 };
  int64_t block;
  void (*round)(const ValueRange& range, double levels, std::vector<double>* values);
  double levels = 0;
  bool f16_scale = false;
};

const std::vector<WeightFormat>& WeightFormats();
// Significands of 9 to 20 bits, cut off and rounded, but for those that are among the others: hardware of its own
// formats.
const std::vector<WeightFormat>& BitFormats();

// To whole steps; of known ones.
WeightFormat FormatOf(const Int8Weights& weights);

// The step of each output channel.
std::vector<double> StepsOf(const Int8Weights& weights, const Layer& layer, const Tensor& weight);

// What quantisers of 8 and 7 bits choose, the most usual first: max|w| / 127 (TensorRT, LiteRT, ncnn, ONNX Runtime),
// / 127.5 (PyTorch; ONNX Runtime's u8 per channel), / 64 and 63.5 (its reduce_range), / 63 (NNCF's half range), and 255
// or 127 steps with a zero point.
const std::vector<Int8Weights>& Int8Choices();

// Values of one output channel; `tensor` is the range of all of them. Each moved by so much of the largest size before
// it is rounded: what a runtime that computes in f32 may make of it.
std::vector<double> RoundedChannel(const WeightFormat& format, const ValueRange& tensor, std::vector<double> values,
                                   double moved = 0);

// Where the output channels of a product's weights lie: dims [outer, channels, inner].
struct ChannelDims {
  int64_t outer = 1, channels = 1, inner = 1;
};
ChannelDims ChannelsOf(const Layer& layer, const Shape& weight);

// A product's weight.
Result<Tensor> RoundedWeight(const WeightFormat& format, const Layer& layer, const Tensor& weight, double moved = 0);

// With the batch normalisation behind it folded in before; what is returned stands in front of the norm.
Result<Tensor> RoundedFolded(const WeightFormat& format, const Layer& layer, const Layer& norm, const Tensor& weight,
                             double moved = 0);
// Of whole steps: how far the weights that lie next to a tie may be off (norm: folded in; null: none), and those of an
// offset what its f32 leaves open. Empty: nothing, or too many lie next to ties for chance.
Tensor UncertainWeights(const WeightFormat& format, const Layer& layer, const Layer* norm, const Tensor& weight);
// Of whole steps: what rounding to the other side would add to the weights that lie next to a tie, 0 of all others.
// Empty: there are none, or more than by chance. Of 63.5 steps the largest weight of each channel is one by itself.
Tensor WeightsNextToTies(const WeightFormat& format, const Layer& layer, const Layer* norm, const Tensor& weight);

}  // namespace plumb

#endif  // PLUMB_CHECK_NUMBERS_WEIGHT_FORMATS_H_
