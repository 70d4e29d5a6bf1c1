// SPDX-License-Identifier: Apache-2.0
// Faults of attention, each named as planted_causes_test.cc's are: the whole of it is one step from x on, products,
// rotary embeddings, mask and cache included, or a rotary embedding alone.
#include <algorithm>
#include <cmath>
#include <limits>

#include "op/concat.h"
#include "op/expand.h"
#include "op/gather.h"
#include "op/permute.h"
#include "op/reshape.h"
#include "op/softmax.h"
#include "op/split_v.h"
#include "planted_cause.h"

namespace plumb {
namespace {

constexpr int kTokens = 6, kHeads = 4, kSize = 8, kFew = 2, kPast = 3, kWidth = kHeads * kSize;

// Adds layers to a graph; every method returns the blob that it makes.
class Builder {
 public:
  std::string Constant(const Tensor& value) {
    const std::string name = "constant_" + std::to_string(graph_.constants.size());
    graph_.constants[name] = value;
    return name;
  }
  std::string Add(OpKind kind, const std::vector<std::string>& inputs) { return Emit(MakeLayer(kind, "", inputs, {})); }
  template <class P>
  std::string Add(OpKind kind, const std::vector<std::string>& inputs, const std::function<void(P*)>& set) {
    Layer layer = MakeLayer(kind, "", inputs, {});
    auto param = std::make_shared<P>();
    set(param.get());
    layer.param = param;
    return Emit(std::move(layer));
  }
  std::string Reshape(const std::string& x, const std::vector<int>& dims) {
    return Add<ReshapeParam>(OpKind::kReshape, {x}, [&](ReshapeParam* p) { p->shape = dims, p->num_axes = -1; });
  }
  std::string Permute(const std::string& x, const std::vector<int>& orders) {
    return Add<PermuteParam>(OpKind::kPermute, {x}, [&](PermuteParam* p) { p->orders = orders; });
  }
  std::string Join(const std::vector<std::string>& parts, int axis) {
    return Add<ConcatParam>(OpKind::kConcat, parts, [&](ConcatParam* p) { p->axis = axis; });
  }
  // Elements of an axis, by their places.
  std::string Pick(const std::string& x, int axis, const std::vector<int64_t>& places) {
    Tensor indices = Tensor::Create(DType::kI64, {static_cast<int64_t>(places.size())}).value();
    std::copy(places.begin(), places.end(), indices.data<int64_t>());
    return Add<GatherParam>(OpKind::kGather, {x, Constant(indices)},
                            [&](GatherParam* p) { p->axis = axis, p->indices_in_resource = false; });
  }
  // The last blob is the result.
  Graph Done(const std::string& last, const Shape& input) {
    Graph graph = graph_;
    for (Layer& layer : graph.layers) {
      for (std::string& output : layer.outputs) output = output == last ? "y" : output;
    }
    const Graph made = GraphOf(graph.layers, input);
    graph.inputs = made.inputs, graph.layers = made.layers, graph.outputs = {"y"};
    return graph;
  }

  std::vector<std::string> Halves(const std::string& x, int size) {
    Layer split = MakeLayer(OpKind::kSplitV, "", {x}, {x + "_low", x + "_high"});
    auto param = std::make_shared<SplitVParam>();
    param->axis = 3, param->slices = {size / 2, size / 2};
    split.param = param;
    (void)Emit(std::move(split));
    return {x + "_low", x + "_high"};
  }

 private:
  std::string Emit(Layer layer) {
    layer.name = "layer_" + std::to_string(graph_.layers.size());
    if (layer.outputs.empty()) layer.outputs = {"blob_" + std::to_string(graph_.layers.size())};
    graph_.layers.push_back(layer);
    return layer.outputs[0];
  }
  Graph graph_;
};

// cos or sin of [1, 1, places, size], each angle twice: in halves, or side by side.
Tensor Angles(bool cosine, int first, bool pairs = false, double base = 100) {
  Tensor table = Tensor::Create(DType::kF32, {1, 1, kTokens, kSize}).value();
  for (int64_t i = 0; i < table.NumElements(); ++i) {
    const int64_t at = pairs ? i % kSize / 2 : i % (kSize / 2);
    const double angle =
        static_cast<double>(i / kSize + first) * std::pow(base, -2.0 * static_cast<double>(at) / kSize);
    table.data<float>()[i] = static_cast<float>(cosine ? std::cos(angle) : std::sin(angle));
  }
  return table;
}

// As exporters spell it: x cos + (-high, low) sin.
std::string Rotated(Builder* b, const std::string& x, int first = 0, double sign = 1, double base = 100) {
  const std::vector<std::string> halves = b->Halves(x, kSize);
  const std::string turned = b->Join({b->Add(OpKind::kNeg, {halves[1]}), halves[0]}, 3);
  const Tensor sine = Mapped(Angles(false, first, false, base), [sign](double v) { return sign * v; });
  return b->Add(OpKind::kAdd, {b->Add(OpKind::kMul, {x, b->Constant(Angles(true, first, false, base))}),
                               b->Add(OpKind::kMul, {turned, b->Constant(sine)})});
}

const std::vector<int64_t> kEvenFirst = {0, 2, 4, 6, 1, 3, 5, 7}, kWoven = {0, 4, 1, 5, 2, 6, 3, 7};

// The pairs side by side.
std::string RotatedPairs(Builder* b, const std::string& x) {
  return b->Pick(Rotated(b, b->Pick(x, 3, kEvenFirst)), 3, kWoven);
}

Tensor CausalMask(int hidden_from) {
  Tensor mask = Tensor::Zeros(DType::kF32, {1, 1, kTokens, kTokens}).value();
  for (int64_t i = 0; i < mask.NumElements(); ++i)
    mask.data<float>()[i] = i % kTokens >= i / kTokens + hidden_from ? -std::numeric_limits<float>::infinity() : 0.0f;
  return mask;
}

struct AttentionPlant {
  double scale = 0.35355339059327373;  // 1 / sqrt(8)
  bool masked = true, tiled = false, v_turned = false, k_turned = false, q_unsplit = false, joined_plainly = false;
  int hidden_from = 1, q_first = 0;
  bool pairs = false;  // of the queries
};

std::string Heads(Builder* b, const std::string& x, int heads, bool unsplit) {
  if (unsplit) return b->Reshape(x, {1, heads, kTokens, kSize});
  return b->Permute(b->Reshape(x, {1, kTokens, heads, kSize}), {0, 2, 1, 3});
}

std::string Repeated(Builder* b, const std::string& x, bool tiled) {
  if (tiled) return b->Join({x, x}, 1);
  const std::string one = b->Reshape(x, {1, kFew, 1, kTokens * kSize});
  const std::string all = b->Add<ExpandParam>(OpKind::kExpand, {one}, [](ExpandParam* p) {
    p->shape = {1, kFew, kHeads / kFew, kTokens * kSize};
  });
  return b->Reshape(all, {1, kHeads, kTokens, kSize});
}

Graph Attention(const AttentionPlant& plant) {
  Builder b;
  const auto project = [&](int width, double offset) {
    return b.Add(OpKind::kMatMul, {"x", b.Constant(Gauss({kWidth, width}, 0.3, offset))});
  };
  std::string q = Heads(&b, project(kWidth, 0), kHeads, plant.q_unsplit);
  std::string k = Heads(&b, project(kFew * kSize, 0.01), kFew, false);
  std::string v = Heads(&b, project(kFew * kSize, 0.02), kFew, false);
  q = plant.pairs ? RotatedPairs(&b, q) : Rotated(&b, q, plant.q_first);
  k = Repeated(&b, Rotated(&b, k), plant.tiled);
  v = Repeated(&b, v, plant.tiled);
  if (plant.v_turned) v = b.Reshape(b.Permute(v, {0, 1, 3, 2}), {1, kHeads, kTokens, kSize});
  const std::string turned = plant.k_turned ? b.Reshape(k, {1, kHeads, kSize, kTokens}) : b.Permute(k, {0, 1, 3, 2});
  std::string scores = b.Add(OpKind::kMatMul, {q, turned});
  if (plant.scale != 1) scores = b.Add(OpKind::kMul, {scores, b.Constant(One(static_cast<float>(plant.scale)))});
  if (plant.masked) scores = b.Add(OpKind::kAdd, {scores, b.Constant(CausalMask(plant.hidden_from))});
  const std::string weights = b.Add<SoftmaxParam>(OpKind::kSoftmax, {scores}, [](SoftmaxParam* p) { p->axis = 3; });
  const std::string y = b.Add(OpKind::kMatMul, {weights, v});
  return b.Done(b.Reshape(plant.joined_plainly ? y : b.Permute(y, {0, 2, 1, 3}), {1, kTokens, kWidth}),
                {1, kTokens, kWidth});
}

Graph With(const std::function<void(AttentionPlant*)>& change) {
  AttentionPlant plant;
  change(&plant);
  return Attention(plant);
}

std::vector<PlantedCause> WholeAttentions() {
  const Graph says = Attention({});
  return {
      {"heads tiled", says, With([](AttentionPlant* p) { p->tiled = true; }), "tiled"},
      {"V transposed", says, With([](AttentionPlant* p) { p->v_turned = true; }), "with the axes in the order 0 2 3 1"},
      {"K as it lies", says, With([](AttentionPlant* p) { p->k_turned = true; }),
       "memory of its axes in the order 0 1 3 2"},
      {"heads and tokens exchanged in front", says, With([](AttentionPlant* p) { p->q_unsplit = true; }),
       "memory of its axes in the order 0 2 1 3"},
      {"heads and tokens exchanged behind", says, With([](AttentionPlant* p) { p->joined_plainly = true; }),
       "without moving its axes"},
      {"no scale", says, With([](AttentionPlant* p) { p->scale = 1; }), "without multiplying by"},
      {"scale of the whole width", says, With([](AttentionPlant* p) { p->scale = 1 / std::sqrt(32.0); }),
       "(1 / sqrt(32)); the graph says 0.353553 (1 / sqrt(8))"},
      {"no mask", says, With([](AttentionPlant* p) { p->masked = false; }), "without adding"},
      {"a mask that sees one more", says, With([](AttentionPlant* p) { p->hidden_from = 2; }), "with the mask"},
      {"queries of the next place", says, With([](AttentionPlant* p) { p->q_first = 1; }),
       "with rotary angles of the place behind"},
      {"queries in pairs", says, With([](AttentionPlant* p) { p->pairs = true; }), "(interleaved) turned, not halves"},
  };
}

Graph RotaryAlone(int first, double sign, bool pairs, double base = 100) {
  Builder b;
  return b.Done(pairs ? RotatedPairs(&b, "x") : Rotated(&b, "x", first, sign, base), {1, kHeads, kTokens, kSize});
}

// Keys of the past and new ones behind them; `kept` says which rows of these are read, -1: zeros.
Graph Cache(const std::vector<int64_t>& kept) {
  Builder b;
  std::string keys = b.Join({b.Constant(Gauss({1, kHeads, kPast, kSize})), "x"}, 2);
  if (!kept.empty()) {
    const std::string zero = b.Constant(Tensor::Zeros(DType::kF32, {1, kHeads, 1, kSize}).value());
    keys = b.Pick(b.Join({keys, zero}, 2), 2, kept);
  }
  const std::string q = b.Constant(Gauss({1, kHeads, 1, kSize}, 2));
  const std::string scores = b.Add(OpKind::kMatMul, {q, b.Permute(keys, {0, 1, 3, 2})});
  const std::string y = b.Add<SoftmaxParam>(OpKind::kSoftmax, {scores}, [](SoftmaxParam* p) { p->axis = 3; });
  return b.Done(y, {1, kHeads, 2, kSize});
}

std::vector<PlantedCause> PartsOfAttention() {
  const Graph rotary = RotaryAlone(0, 1, false), pairs = RotaryAlone(0, 1, true), cache = Cache({});
  return {
      {"halves for pairs", rotary, pairs, "with pairs side by side (interleaved) turned, not halves"},
      {"the place behind", rotary, RotaryAlone(1, 1, false), "with rotary angles of the place behind"},
      {"the place before", rotary, RotaryAlone(-1, 1, false), "with rotary angles of the place before"},
      {"another base", rotary, RotaryAlone(0, 1, false, 1e4), "with RoPE's base 10000; the graph says 100"},
      {"the other way", rotary, RotaryAlone(0, -1, false), "as Sub; the graph says Add"},
      {"a cache one later", cache, Cache({4, 0, 1, 2, 3}), "with its result shifted one later along axis 2"},
      {"a cache one earlier", cache, Cache({1, 2, 3, 4, 4}), "with its result shifted one earlier along axis 2"},
      {"the newest slot not written", cache, Cache({0, 1, 2, 3, 5}), "with the last slot of axis 2 not written (0)"},
      {"the newest slot as the one before", cache, Cache({0, 1, 2, 3, 3}), "holding the one before it"},
  };
}

class PlantedAttention : public testing::TestWithParam<PlantedCause> {};
TEST_P(PlantedAttention, IsNamedAndNoOther) { ExpectPlanted(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Whole, PlantedAttention, testing::ValuesIn(WholeAttentions()), PlantName);
INSTANTIATE_TEST_SUITE_P(Parts, PlantedAttention, testing::ValuesIn(PartsOfAttention()), PlantName);

// A runtime that fuses the whole and computes what lies inside once more, apart, because it was asked for.
TEST(PlantedAttention, ARotationBesideHealthyTensorsIsNamed) {
  const Graph says = RotaryAlone(0, 1, false);
  const Tensor x = Gauss(says.inputs[0].shape);
  Stored subject;
  subject.blobs["x"] = x;
  for (const Layer& layer : says.layers) {
    for (const std::string& output : layer.outputs) {
      Graph part = says;
      part.outputs = {output};
      subject.blobs[output] = ComputedBy(part, x);
    }
  }
  subject.blobs["y"] = ComputedBy(RotaryAlone(0, 1, true), x);
  const RunReport run = CheckSubjectBlobs(says, subject, {}, {}).value();
  ASSERT_EQ(run.first_wrong, static_cast<int>(run.layers.size()) - 1);
  EXPECT_NE(run.layers.back().cause.find("(interleaved) turned, not halves"), std::string::npos)
      << run.layers.back().cause << run.layers.back().reason;
}

TEST(PlantedAttention, HealthyIsAligned) {
  for (const Graph& graph : {Attention({}), RotaryAlone(0, 1, false), RotaryAlone(0, 1, true), Cache({})}) {
    const Tensor x = Gauss(graph.inputs[0].shape);
    const LayerReport report = Judge(graph, x, ComputedBy(graph, x));
    EXPECT_EQ(report.verdict, Verdict::kAligned) << report.reason;
    EXPECT_EQ(report.cause, "");
  }
}

}  // namespace
}  // namespace plumb
