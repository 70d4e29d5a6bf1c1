// SPDX-License-Identifier: Apache-2.0
// Faults of normalisations, slopes and terms of sums: statistics of other elements, weights of another layer, each
// named as planted_causes_test.cc's are.
#include <cmath>

#include "op/affine.h"
#include "op/convolution.h"
#include "op/inner_product.h"
#include "op/norm.h"
#include "planted_cause.h"

namespace plumb {
namespace {

constexpr int64_t kChannels = 6;

using Statistics = double[5];  // gamma, beta, mean, variance, epsilon

Tensor StoredStatistics() {
  Tensor stored = Gauss({5, kChannels}, 0.2, 0.7);
  for (int64_t c = 0; c < kChannels; ++c) stored.data<float>()[4 * kChannels + c] = 1e-5f;
  return stored;
}

// A batch normalisation as it is folded; `change` alters a channel's statistics before.
Graph FoldedNorm(const std::function<void(double* s)>& change = nullptr) {
  Layer layer = MakeLayer(OpKind::kBatchNormCxx, "layer", {"x"}, {"y"});
  Tensor scale = Gauss({kChannels}), bias = Gauss({kChannels});
  const Tensor stored = StoredStatistics();
  for (int64_t c = 0; c < kChannels; ++c) {
    Statistics s;
    for (int64_t k = 0; k < 5; ++k) s[k] = stored.ValueAt(k * kChannels + c);
    if (change) change(s);
    const double factor = s[0] / std::sqrt(s[3] + s[4]);
    scale.data<float>()[c] = static_cast<float>(factor);
    bias.data<float>()[c] = static_cast<float>(s[1] - s[2] * factor);
  }
  layer.resources = {{"scale", scale}, {"bias", bias}, {kBatchStatistics, stored}};
  return GraphOf({layer}, {3, kChannels, 4, 5});
}

// gamma (x - mean) / sqrt(variance + epsilon) + beta of elements that share a place.
Tensor Standardised(const Tensor& x, double epsilon, const std::function<int64_t(int64_t)>& place,
                    const std::function<double(int64_t)>& gamma, const std::function<double(int64_t)>& beta) {
  std::map<int64_t, double> count, mean, variance;
  for (int64_t i = 0; i < x.NumElements(); ++i) count[place(i)] += 1, mean[place(i)] += x.ValueAt(i);
  for (auto& [at, sum] : mean) sum /= count[at];
  for (int64_t i = 0; i < x.NumElements(); ++i)
    variance[place(i)] += std::pow(x.ValueAt(i) - mean[place(i)], 2) / count[place(i)];
  Tensor y = x.Clone().value();
  for (int64_t i = 0; i < x.NumElements(); ++i) {
    const double z = (x.ValueAt(i) - mean[place(i)]) / std::sqrt(variance[place(i)] + epsilon);
    y.data<float>()[i] = static_cast<float>(gamma(i) * z + beta(i));
  }
  return y;
}

PlantedCause Spoilt(const std::string& name, const Graph& graph, const std::string& words, const Tensor& x,
                    const Tensor& computed) {
  PlantedCause plant{name, graph, graph, words, false, x};
  plant.spoil = [computed](Tensor* y) { *y = computed; };
  return plant;
}

std::vector<PlantedCause> BatchNormPlants() {
  const Tensor x = Gauss({3, kChannels, 4, 5}, 2, 0.5), stored = StoredStatistics();
  const auto channel = [](int64_t i) { return i / 20 % kChannels; };
  const auto row = [&](int64_t k) { return [=](int64_t i) { return stored.ValueAt(k * kChannels + channel(i)); }; };
  return {
      Spoilt("a batch norm in training mode", FoldedNorm(), "with the mean and variance of this batch (training mode)",
             x, Standardised(x, 1e-5, channel, row(0), row(1))),
      {"mean and variance exchanged", FoldedNorm(), FoldedNorm([](double* s) { std::swap(s[2], s[3]); }),
       "with mean and variance exchanged"},
      {"gamma and beta exchanged", FoldedNorm(), FoldedNorm([](double* s) { std::swap(s[0], s[1]); }),
       "with gamma and beta exchanged"}};
}

std::vector<PlantedCause> OtherNormPlants() {
  const Tensor x = Gauss({3, kChannels, 4, 5}, 2, 0.5), scale = Gauss({kChannels}, 0.3, 1), bias = Gauss({kChannels});
  Layer instance =
      LayerOf<InstBatchNormParam>(OpKind::kInstBatchNormCxx, [](InstBatchNormParam* p) { p->eps = 1e-3f; });
  instance.resources = {{"scale", scale}, {"bias", bias}};
  const Graph inst = GraphOf({instance}, x.shape());
  const auto channel = [](int64_t i) { return i / 20 % kChannels; };
  const auto gamma = [=](int64_t i) { return scale.ValueAt(channel(i)); };
  const auto beta = [=](int64_t i) { return bias.ValueAt(channel(i)); };
  Layer rows = LayerOf<LayerNormParam>(
      OpKind::kLayerNorm, [](LayerNormParam* p) { p->reduce_dims_size = 1, p->eps = 1e-3f; }, {"x", "gamma", "beta"});
  const Tensor r = Gauss({2, 7, 8}, 2, 0.5), row_gamma = Gauss({8}, 0.3, 1), row_beta = Gauss({8});
  Graph layer = GraphOf({rows}, r.shape());
  layer.constants = {{"gamma", row_gamma}, {"beta", row_beta}};
  const double eps = static_cast<double>(1e-3f);
  return {Spoilt("an instance norm over the batch", inst, "with its mean and variance over the batch, too", x,
                 Standardised(x, eps, channel, gamma, beta)),
          Spoilt("an instance norm over the channels", inst, "with its mean and variance over the channels, too", x,
                 Standardised(
                     x, eps, [](int64_t i) { return i / (20 * kChannels); }, gamma, beta)),
          Spoilt("a layer norm along another axis", layer, "along axis 1; the graph says axis 2", r,
                 Standardised(
                     r, eps, [](int64_t i) { return i / 56 * 8 + i % 8; },
                     [=](int64_t i) { return row_gamma.ValueAt(i % 8); },
                     [=](int64_t i) { return row_beta.ValueAt(i % 8); }))};
}

Graph Sloped(int shift) {
  Layer layer = MakeLayer(OpKind::kPReLU, "layer", {"x"}, {"y"});
  Tensor slope = Gauss({kChannels}, 0.1, 0.3), shifted = slope.Clone().value();
  for (int i = 0; i < kChannels; ++i)
    shifted.data<float>()[i] = slope.data<float>()[(i + shift + kChannels) % kChannels];
  layer.resources["slope"] = shifted;
  return GraphOf({layer}, {2, kChannels, 4, 5});
}

// alpha x W + beta b
Graph Gemm(float alpha, float beta) {
  Layer layer = LayerOf<InnerProductParam>(OpKind::kInnerProduct,
                                           [](InnerProductParam* p) { p->num_output = 24, p->has_bias = true; });
  layer.resources = {{"weight", Mapped(Gauss({24, 32}, 0.1), [=](double w) { return w * static_cast<double>(alpha); })},
                     {"bias", Mapped(Gauss({24}), [=](double b) { return b * static_cast<double>(beta); })}};
  return GraphOf({layer}, {4, 32});
}

std::vector<PlantedCause> TermPlants() {
  const auto residual = [](bool twice) {
    std::vector<Layer> layers = {MakeLayer(OpKind::kTanh, "t", {"x"}, {"a"}),
                                 MakeLayer(OpKind::kAdd, "add", {"a", "x"}, {twice ? "b" : "y"})};
    if (twice) layers.push_back(MakeLayer(OpKind::kAdd, "again", {"b", "x"}, {"y"}));
    return GraphOf(std::move(layers), {2, 4, 8});
  };
  return {{"slopes shifted", Sloped(0), Sloped(1), "with the slope of the channel behind; the graph says its own"},
          {"slopes shifted back", Sloped(0), Sloped(-1), "with the slope of the channel before"},
          {"a residual twice", residual(false), residual(true), "with 'x' added twice; the graph says once"},
          {"alpha left out", Gemm(0.5f, 1), Gemm(1, 1), "with its product times 2; the graph says once"},
          {"beta left out", Gemm(1, 0.25f), Gemm(1, 1), "with its bias times 4; the graph says once"}};
}

class PlantedStatistics : public testing::TestWithParam<PlantedCause> {};

TEST_P(PlantedStatistics, IsNamed) { ExpectPlanted(GetParam()); }

INSTANTIATE_TEST_SUITE_P(BatchNorms, PlantedStatistics, testing::ValuesIn(BatchNormPlants()), PlantName);
INSTANTIATE_TEST_SUITE_P(OtherNorms, PlantedStatistics, testing::ValuesIn(OtherNormPlants()), PlantName);
INSTANTIATE_TEST_SUITE_P(Terms, PlantedStatistics, testing::ValuesIn(TermPlants()), PlantName);

// Two convolutions of one shape, the second with what belongs to the first.
TEST(PlantedWeights, OfAnotherLayerAreNamed) {
  const auto conv = [](const std::string& name, const std::string& in, const std::string& out, double seed) {
    Layer layer = LayerOf<ConvolutionParam>(OpKind::kConvolution,
                                            [](ConvolutionParam* p) {
                                              p->in_channels_per_group = p->out_channels = kChannels,
                                              p->kernel_h = p->kernel_w = 3, p->bias = true;
                                              p->pad_type = kPadSame;
                                            },
                                            {in});
    layer.name = name, layer.outputs = {out};
    layer.resources = {{"weight", Gauss({kChannels, kChannels, 3, 3}, 0.1, seed)},
                       {"bias", Gauss({kChannels}, 1, seed)}};
    return layer;
  };
  const Graph says = GraphOf({conv("one", "x", "c", 0.1), conv("two", "c", "y", 0.2)}, {1, kChannels, 7, 7});
  const Tensor x = Gauss({1, kChannels, 7, 7});
  const auto judged = [&](bool bias_too) {
    Graph computed = says;
    for (const char* slot : {"weight", "bias"}) {
      if (bias_too || slot == std::string("weight"))
        computed.layers[1].resources[slot] = says.layers[0].resources.at(slot);
    }
    Graph first = GraphOf({says.layers[0]}, x.shape());
    const Tensor c = ComputedBy(first, x);
    Graph second = GraphOf({computed.layers[1]}, x.shape());
    second.inputs[0].name = second.layers[0].inputs[0] = "x";
    const Stored subject({{"x", x}, {"c", c}, {"y", ComputedBy(second, c)}});
    return CheckSubjectBlobs(says, subject, {}, {}).value().layers[1];
  };
  ExpectNamed(judged(true), "computed with the weights and bias of 'one'; the graph says its own");
  ExpectNamed(judged(false), "computed with the weights of 'one'; the graph says its own");
}

}  // namespace
}  // namespace plumb
