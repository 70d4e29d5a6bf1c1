// SPDX-License-Identifier: Apache-2.0
// Faults of whole rows, heads and significands, each named as planted_causes_test.cc's are: norms and means over other
// lanes, a mask that one head lacks, dropout left active, products of other numbers of bits, resizing with short
// weights.
#include <algorithm>
#include <cmath>

#include "op/inner_product.h"
#include "op/norm.h"
#include "op/reduce.h"
#include "op/softmax.h"
#include "op/upsample.h"
#include "planted_cause.h"

namespace plumb {
namespace {

constexpr int64_t kLanes = 10;

PlantedCause Written(const std::string& name, const Graph& graph, const std::string& words, const Tensor& x,
                     const std::function<void(Tensor*)>& spoil) {
  return {name, graph, graph, words, false, x, spoil};
}

Graph RowNorm() {
  Layer layer = LayerOf<LayerNormParam>(OpKind::kLayerNorm, [](LayerNormParam* p) { p->reduce_dims_size = 1; },
                                        {"x", "gamma", "beta"});
  Graph graph = GraphOf({layer}, {3, 7, kLanes});
  graph.constants = {{"gamma", Gauss({kLanes}, 0.3, 1)}, {"beta", Gauss({kLanes})}};
  return graph;
}

// (x - sum / mean) / sqrt((squares + zeros mean^2) / divisor + epsilon) of the first `read` lanes.
struct RowSums {
  int64_t read;
  double divisor, variance_divisor, zeros;
};

std::function<void(Tensor*)> NormOf(const Graph& graph, const Tensor& x, const RowSums& sums) {
  const Tensor gamma = graph.constants.at("gamma"), beta = graph.constants.at("beta");
  const auto epsilon = static_cast<double>(ParamOf<LayerNormParam>(graph.layers[0]).eps);
  return [=](Tensor* y) {
    for (int64_t row = 0; row < x.NumElements() / kLanes; ++row) {
      double mean = 0, squares = 0;
      for (int64_t i = 0; i < sums.read; ++i) mean += x.ValueAt(row * kLanes + i) / sums.divisor;
      for (int64_t i = 0; i < sums.read; ++i) squares += std::pow(x.ValueAt(row * kLanes + i) - mean, 2);
      const double root = std::sqrt((squares + sums.zeros * mean * mean) / sums.variance_divisor + epsilon);
      for (int64_t i = 0; i < kLanes; ++i) {
        const double z = (x.ValueAt(row * kLanes + i) - mean) / root;
        y->data<float>()[row * kLanes + i] = static_cast<float>(gamma.ValueAt(i) * z + beta.ValueAt(i));
      }
    }
  };
}

std::vector<PlantedCause> LanePlants() {
  const Tensor x = Gauss({3, 7, kLanes}, 1.5, 0.4);
  const Graph norm = RowNorm();
  const auto plant = [&](const char* name, const char* words, const RowSums& sums) {
    return Written(name, norm, words, x, NormOf(norm, x, sums));
  };
  const Graph mean =
      GraphOf({LayerOf<ReduceParam>(OpKind::kReduceMean, [](ReduceParam* p) { p->axes = {2}, p->keep_dims = true; })},
              x.shape());
  const auto mean_of = [x](int64_t read, double divisor) {
    return [=](Tensor* y) {
      for (int64_t row = 0; row < y->NumElements(); ++row) {
        double sum = 0;
        for (int64_t i = 0; i < read; ++i) sum += x.ValueAt(row * kLanes + i);
        y->data<float>()[row] = static_cast<float>(sum / divisor);
      }
    };
  };
  return {
      plant("a norm over whole vectors", "over the first 8 of 10 lanes; the graph says 10", {8, 8, 8, 0}),
      plant("a norm divided by the padded width", "divided by 12 lanes, padding included", {10, 12, 12, 0}),
      plant("padding in the variance", "with 6 padded lanes in its variance (16 in all)", {10, 10, 10, 6}),
      plant("a norm over the padded row", "over 16 lanes, of which 6 are padding", {10, 16, 16, 6}),
      Written("a mean over whole vectors", mean, "over the first 8 of 10 lanes; the graph says 10", x, mean_of(8, 8)),
      Written("a mean of a part, divided by all", mean, "over the first 8 of 10 lanes, divided by 10", x,
              mean_of(8, 10))};
}

std::vector<PlantedCause> HeadPlants() {
  const Shape scores{2, 4, 6, 6};
  Graph masked = GraphOf({MakeLayer(OpKind::kAdd, "add", {"x", "mask"}, {"y"})}, scores);
  Tensor mask = Tensor::Zeros(DType::kF32, {1, 1, 1, 6}).value();
  mask.data<float>()[4] = mask.data<float>()[5] = -1e9f;
  masked.constants["mask"] = mask;
  const Tensor x = Gauss(scores);
  const auto lost = [x](Tensor* y) {
    for (int64_t i = 0; i < y->NumElements(); ++i) {
      if (i / 36 % 4 == 2) y->data<float>()[i] = x.data<float>()[i];
    }
  };
  const Graph softmax =
      GraphOf({LayerOf<SoftmaxParam>(OpKind::kSoftmax, [](SoftmaxParam* p) { p->axis = 3; })}, scores);
  const auto dropped = [](Tensor* y) {
    std::mt19937 random(7);
    for (int64_t i = 0; i < y->NumElements(); ++i) y->data<float>()[i] *= random() % 10 == 0 ? 0.0f : 1 / 0.9f;
  };
  return {
      Written("a mask that head 2 lacks", masked, "in head 2; the graph says in every head", x, lost),
      Written("dropout of 0.1", softmax, "with dropout left active (rate 0.1); the graph says without", x, dropped)};
}

double CutTo(double v, int bits) {
  int exponent;
  const double significand = std::frexp(v, &exponent);
  return std::ldexp(std::trunc(std::ldexp(significand, bits)), exponent - bits);
}

Graph Projected(int weight_bits) {
  Layer layer = LayerOf<InnerProductParam>(OpKind::kInnerProduct,
                                           [](InnerProductParam* p) { p->num_output = 24, p->has_bias = true; });
  const Tensor weight = Gauss({24, 64}, 0.2);
  layer.resources = {
      {"weight", weight_bits == 0 ? weight : Mapped(weight, [=](double w) { return CutTo(w, weight_bits); })},
      {"bias", Gauss({24})}};
  return GraphOf({layer}, {8, 64});
}

std::vector<PlantedCause> BitPlants() {
  const auto stored = [](Tensor* y) { *y = Mapped(*y, [](double v) { return CutTo(v, 16); }); };
  PlantedCause hint{"a result of 16 bits", Projected(0), Projected(0), "every value has 16 bits of precision", true};
  hint.spoil = stored;
  return {
      {"weights of 16 bits", Projected(0), Projected(16), "with weights rounded to 16-bit significands towards zero"},
      {"weights of 13 bits", Projected(0), Projected(13), "with weights rounded to 13-bit significands towards zero"},
      hint};
}

std::vector<PlantedCause> ResizePlants() {
  constexpr int kFrom = 6, kTo = 9;
  const Graph graph = GraphOf({LayerOf<UpsampleParam>(OpKind::kUpsample,
                                                      [](UpsampleParam* p) {
                                                        p->mode = 2, p->align_corners = 0;
                                                        p->scale_h = p->scale_w = 1.5f;
                                                      })},
                              {1, 2, kFrom, kFrom});
  const Tensor x = Gauss({1, 2, kFrom, kFrom});
  const auto resized = [x](Tensor* y) {
    const auto tap = [](int64_t to, int64_t* low) {
      const double at = std::clamp((static_cast<double>(to) + 0.5) / 1.5 - 0.5, 0.0, kFrom - 1.0);
      *low = std::min<int64_t>(static_cast<int64_t>(at), kFrom - 2);
      return std::nearbyint((at - static_cast<double>(*low)) * 2048) / 2048;
    };
    for (int64_t i = 0; i < y->NumElements(); ++i) {
      int64_t row, column;
      const double down = tap(i / kTo % kTo, &row), right = tap(i % kTo, &column);
      const int64_t corner = i / (kTo * kTo) * kFrom * kFrom + row * kFrom + column;
      const double top = x.ValueAt(corner) * (1 - right) + x.ValueAt(corner + 1) * right;
      const double bottom = x.ValueAt(corner + kFrom) * (1 - right) + x.ValueAt(corner + kFrom + 1) * right;
      y->data<float>()[i] = static_cast<float>(top * (1 - down) + bottom * down);
    }
  };
  return {Written("OpenCV's weights", graph, "as linear with weights of 11 bits", x, resized)};
}

class PlantedLanes : public testing::TestWithParam<PlantedCause> {};
TEST_P(PlantedLanes, AreNamedAndNoOthers) { ExpectPlanted(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Rows, PlantedLanes, testing::ValuesIn(LanePlants()), PlantName);
INSTANTIATE_TEST_SUITE_P(Heads, PlantedLanes, testing::ValuesIn(HeadPlants()), PlantName);
INSTANTIATE_TEST_SUITE_P(Bits, PlantedLanes, testing::ValuesIn(BitPlants()), PlantName);
INSTANTIATE_TEST_SUITE_P(Images, PlantedLanes, testing::ValuesIn(ResizePlants()), PlantName);

}  // namespace
}  // namespace plumb
