// SPDX-License-Identifier: Apache-2.0
// Proposals for normalisations whose mean and variance are those of other elements: of the whole batch (training mode),
// along another axis.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "check/cause/known_ways_util.h"
#include "op/affine.h"
#include "op/norm.h"

namespace plumb {
namespace {

// y = gamma (x - mean) / sqrt(variance + epsilon) + beta, mean and variance along `axes`, gamma and beta by element.
struct Standardised {
  std::vector<int> axes;
  double epsilon;
  std::function<double(int64_t)> gamma, beta;
};

// The number of the mean that each element has a part in.
std::vector<int64_t> PlacesOfMeans(const Shape& shape, const std::vector<int>& axes) {
  std::vector<int64_t> places(static_cast<size_t>(shape.NumElements()), 0);
  int64_t stride = 1;
  for (int axis = shape.rank(); axis-- > 0;) {
    if (std::find(axes.begin(), axes.end(), axis) != axes.end()) continue;
    const int64_t inner = shape.CountFrom(axis + 1);
    for (size_t i = 0; i < places.size(); ++i) places[i] += static_cast<int64_t>(i) / inner % shape[axis] * stride;
    stride *= shape[axis];
  }
  return places;
}

void Standardise(const Standardised& by, const Tensor& input, Tensor* values, Tensor* tau) {
  const std::vector<int64_t> places = PlacesOfMeans(input.shape(), by.axes);
  const double* x = input.data<double>();
  std::vector<double> count(places.size(), 0), mean(places.size(), 0), variance(places.size(), 0);
  for (size_t i = 0; i < places.size(); ++i) count[static_cast<size_t>(places[i])] += 1;
  const auto add = [&](std::vector<double>* to, size_t i, double value) {
    (*to)[static_cast<size_t>(places[i])] += value / count[static_cast<size_t>(places[i])];
  };
  for (size_t i = 0; i < places.size(); ++i) add(&mean, i, x[i]);
  for (size_t i = 0; i < places.size(); ++i)
    add(&variance, i, std::pow(x[i] - mean[static_cast<size_t>(places[i])], 2));
  for (size_t i = 0; i < places.size(); ++i) {
    const auto place = static_cast<size_t>(places[i]), at = i;
    const double gamma = by.gamma(static_cast<int64_t>(at)), beta = by.beta(static_cast<int64_t>(at));
    const double root = std::sqrt(variance[place] + by.epsilon), scaled = gamma * (x[i] - mean[place]) / root;
    values->data<double>()[i] = scaled + beta;
    const double largest = std::fabs(scaled) + std::fabs(beta) + std::fabs(gamma * x[i] / root);
    if (tau != nullptr) tau->data<double>()[i] = 32 * 0x1p-24 * largest;
  }
}

void ProposeStandardised(const ProposalContext& c, std::string computed, std::string says, Standardised by,
                         Proposals* proposals) {
  proposals->push_back(
      OfItsInput(c, std::move(computed), std::move(says), "statistics",
                 [by](const Tensor& input, Tensor* values, Tensor* tau) { Standardise(by, input, values, tau); }));
}

// All axes but the channels'.
std::vector<int> BatchAndPlane(const Shape& shape) {
  std::vector<int> axes = {0};
  for (int axis = 2; axis < shape.rank(); ++axis) axes.push_back(axis);
  return axes;
}

// Of a tensor of values per channel, from value `first` on.
std::function<double(int64_t)> OfChannel(const Shape& shape, const Tensor& values, int64_t first) {
  const int64_t inner = shape.CountFrom(2), channels = shape[1];
  return [=](int64_t i) { return values.ValueAt(first + i / inner % channels); };
}

void OfTheBatch(const ProposalContext& c, Proposals* proposals) {
  const Tensor* stored = c.layer.Resource(kBatchStatistics);
  if (stored == nullptr || c.input.rank() < 2 || stored->shape().rank() != 2 || stored->shape()[1] != c.input[1])
    return;
  const int64_t channels = c.input[1];
  ProposeStandardised(c, "with the mean and variance of this batch (training mode)", "those of its weights",
                      {BatchAndPlane(c.input), stored->ValueAt(4 * channels), OfChannel(c.input, *stored, 0),
                       OfChannel(c.input, *stored, channels)},
                      proposals);
}

void OverTheBatch(const ProposalContext& c, Proposals* proposals) {
  const Tensor *scale = c.layer.Resource("scale"), *bias = c.layer.Resource("bias");
  if (scale == nullptr || bias == nullptr || c.input.rank() < 3) return;
  if (scale->NumElements() != c.input[1] || bias->NumElements() != c.input[1]) return;
  const auto epsilon = static_cast<double>(ParamOf<InstBatchNormParam>(c.layer).eps);
  std::vector<int> channels_too;
  for (int axis = 1; axis < c.input.rank(); ++axis) channels_too.push_back(axis);
  for (const auto& [words, axes] : {std::make_pair("over the batch, too", BatchAndPlane(c.input)),
                                    std::make_pair("over the channels, too", channels_too)})
    ProposeStandardised(c, fmt::format("with its mean and variance {}", words), "over the plane",
                        {axes, epsilon, OfChannel(c.input, *scale, 0), OfChannel(c.input, *bias, 0)}, proposals);
}

void AlongAnotherAxis(const ProposalContext& c, Proposals* proposals) {
  const auto& param = ParamOf<LayerNormParam>(c.layer);
  const Tensor *gamma = c.value(1), *beta = c.value(2);
  const auto of = [](const Tensor* values, double absent) -> std::function<double(int64_t)> {
    if (values == nullptr) return [absent](int64_t) { return absent; };
    return [known = *values](int64_t i) { return known.ValueAt(i % known.NumElements()); };
  };
  if ((c.layer.inputs.size() > 1 && gamma == nullptr) || (c.layer.inputs.size() > 2 && beta == nullptr)) return;
  const int own = c.input.rank() - param.reduce_dims_size;
  for (int axis = 0; axis < own; ++axis) {
    if (c.input[axis] < 2) continue;
    ProposeStandardised(c, fmt::format("along axis {}", axis), fmt::format("axis {}", own),
                        {{axis}, static_cast<double>(param.eps), of(gamma, 1), of(beta, 0)}, proposals);
  }
}

constexpr ProposalRow kStatisticsProposalRows[] = {
    {OpKind::kBatchNormCxx, OfTheBatch},
    {OpKind::kInstBatchNormCxx, OverTheBatch},
    {OpKind::kLayerNorm, AlongAnotherAxis},
};

}  // namespace

void ProposeForStatistics(const ProposalContext& context, Proposals* proposals) {
  for (const ProposalRow& row : kStatisticsProposalRows) {
    if (row.kind == context.layer.kind) row.propose(context, proposals);
  }
}

}  // namespace plumb
