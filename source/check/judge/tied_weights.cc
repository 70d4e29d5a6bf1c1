// SPDX-License-Identifier: Apache-2.0
#include "check/judge/tied_weights.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "check/numbers/int8.h"
#include "check/numbers/weight_formats.h"
#include "op/convolution.h"
#include "op/matmul.h"

namespace plumb {
namespace {

constexpr size_t kMostTies = 8;  // of a channel; more are no chance, and each costs a replay

// Where the output channels of a product lie in a result.
struct OutputChannels {
  int64_t channels = 0, inner = 1;
  size_t At(int64_t element) const { return static_cast<size_t>(element / inner % channels); }
};

// Nothing where the result has another number of them in that place.
std::optional<OutputChannels> OutputChannelsOf(const Layer& product, int64_t channels, const Shape& result) {
  int axis = 1;
  if (product.kind == OpKind::kMatMul) {
    const bool weight_first = product.inputs.size() == 1 && ParamOf<MatMulParam>(product).weight_position == 0;
    axis = result.rank() - (weight_first ? 2 : 1);
  }
  if (axis < 0 || axis >= result.rank() || result[axis] != channels) return std::nullopt;
  return OutputChannels{channels, result.CountFrom(axis + 1)};
}

bool HasActivation(const Layer& product) {
  return product.kind == OpKind::kConvolution && ParamOf<ConvolutionParam>(product).activation != kActivationNone;
}

// What the first ties of all channels add to the weights, then what the second ones do, and so on.
Result<std::vector<Tensor>> OneTieOfEachChannel(const Tensor& ties, const ChannelDims& dims) {
  std::vector<Tensor> rounds;
  std::vector<size_t> used(static_cast<size_t>(dims.channels));
  for (int64_t i = 0; i < ties.NumElements(); ++i) {
    const float change = ties.data<float>()[i];
    if (change == 0) continue;
    const size_t round = used[static_cast<size_t>(i / dims.inner % dims.channels)]++;
    if (round == rounds.size()) {
      PLUMB_ASSIGN_OR_RETURN(rounds.emplace_back(), Tensor::Zeros(DType::kF32, ties.shape()));
    }
    rounds[round].data<float>()[i] = change;
  }
  return rounds;
}

// What weights alone make of the product's input, without a bias.
Result<Tensor> SumsOf(const Layer& product, const Tensor& input, const Tensor& weight, const BlobTable& blobs) {
  Layer alone = product;
  alone.resources["weight"] = weight;
  const Tensor* bias = product.Resource("bias");
  if (bias != nullptr) {
    PLUMB_ASSIGN_OR_RETURN(alone.resources["bias"], Tensor::Zeros(bias->dtype(), bias->shape()));
  }
  LayerGroup group;
  group.members = {&alone};
  group.inputs = {{0, 0, product.inputs[0]}};
  group.outputs = {{0, 0, product.outputs[0]}};
  PLUMB_ASSIGN_OR_RETURN(const ReplayResult sums, ReplayValues(group, {input}, blobs));
  return sums.values[0];
}

void Add(const Tensor& more, Tensor* values) {
  for (int64_t i = 0; i < values->NumElements(); ++i) values->data<double>()[i] += more.data<double>()[i];
}

// Squared errors of each channel; values at an end of the device's grid stand for any beyond.
std::vector<double> ErrorsOf(const Tensor& device, const Grid& grid, const Tensor& values, const OutputChannels& at) {
  std::vector<double> errors(static_cast<size_t>(at.channels));
  for (int64_t i = 0; i < device.NumElements(); ++i) {
    const double y = device.ValueAt(i), off = y - values.data<double>()[i];
    if (!grid.none() && (grid.IsHighest(y) || grid.IsLowest(y))) continue;
    errors[at.At(i)] += off * off;
  }
  return errors;
}

// One step of one product with such weights.
struct TiedStep {
  const StepRecord& record;
  const BlobTable& blobs;
  int member = 0;
  const Layer& product;
  const Tensor& input;
  OutputChannels of_sums, of_result;

  ReplayExtra With(const Tensor& more) const {
    ReplayExtra extra;
    extra.changes.push_back({member, {}, {}, [more](Tensor* values, Tensor*) { Add(more, values); }});
    return extra;
  }

  // What is to be added to the product's sums; `flips`: how many weights that rounds the other way.
  Result<Tensor> Resolve(const std::vector<Tensor>& rounds, int64_t* flips) const {
    const Tensor& device = record.device[0];
    const Grid grid = FindGrid(device);
    std::vector<double> best = ErrorsOf(device, grid, record.replay.values[0], of_result);
    Tensor all;
    for (const Tensor& round : rounds) {
      PLUMB_ASSIGN_OR_RETURN(Tensor sums, SumsOf(product, input, round, blobs));
      if (all.empty()) {
        PLUMB_ASSIGN_OR_RETURN(all, Tensor::Zeros(DType::kF64, sums.shape()));
      }
      PLUMB_ASSIGN_OR_RETURN(Tensor with, all.Clone());
      Add(sums, &with);
      PLUMB_ASSIGN_OR_RETURN(const ReplayResult moved, ReplayValues(record.group, record.inputs, blobs, With(with)));
      const std::vector<double> errors = ErrorsOf(device, grid, moved.values[0], of_result);
      for (int64_t i = 0; i < sums.NumElements(); ++i) {
        const size_t channel = of_sums.At(i);
        if (errors[channel] < best[channel]) all.data<double>()[i] = with.data<double>()[i];
      }
      for (size_t c = 0; c < best.size(); ++c) {
        *flips += errors[c] < best[c];
        best[c] = std::min(best[c], errors[c]);
      }
    }
    return all;
  }
};

}  // namespace

Result<std::vector<Way>> WaysOfTies(const Scene& scene, const StepRecord& record, const Way& first) {
  std::vector<Way> ways;
  const Layer* product = ProductLayerOf(record.group);
  if (scene.ties == nullptr || product == nullptr || HasActivation(*product)) return ways;
  const auto ties = scene.ties->find(product->index);
  if (ties == scene.ties->end() || record.device.size() != 1 || record.replay.values.size() != 1) return ways;
  const auto& members = record.group.members;
  const auto member = static_cast<int>(std::find(members.begin(), members.end(), product) - members.begin());
  const auto& ports = record.group.inputs;
  const auto port = std::find_if(ports.begin(), ports.end(), [&](const LayerGroup::Port& input) {
    return input.member == member && input.slot == 0;
  });
  if (port == ports.end()) return ways;
  const Tensor& input = record.inputs[static_cast<size_t>(port - ports.begin())];
  const ChannelDims dims = ChannelsOf(*product, ties->second.shape());
  const auto of_sums = OutputChannelsOf(*product, dims.channels, scene.blobs->at(product->outputs[0]).shape);
  const auto of_result = OutputChannelsOf(*product, dims.channels, record.device[0].shape());
  const Tensor& values = record.replay.values[0];
  if (!of_sums || !of_result || values.dtype() != DType::kF64 || input.dtype() != DType::kF64) return ways;
  PLUMB_ASSIGN_OR_RETURN(const std::vector<Tensor> rounds, OneTieOfEachChannel(ties->second, dims));
  if (rounds.size() > kMostTies) return ways;
  const TiedStep step{record, *scene.blobs, member, *product, input, *of_sums, *of_result};
  int64_t flips = 0;
  PLUMB_ASSIGN_OR_RETURN(const Tensor more, step.Resolve(rounds, &flips));
  if (flips == 0) return ways;
  ways.push_back(first);
  const ReplayExtra with = step.With(more);
  ways[0].extra.changes.insert(ways[0].extra.changes.end(), with.changes.begin(), with.changes.end());
  ways[0].note += first.note.empty() ? "" : "; ";
  ways[0].note += fmt::format("{} of its weights, next to a rounding tie, {} rounded the other way, as its values say",
                              flips, flips == 1 ? "is" : "are");
  return ways;
}

}  // namespace plumb
