// SPDX-License-Identifier: Apache-2.0
// Faults of activations, of recurrent layers and of layers that choose, each named as planted_causes_test.cc's are.
#include <algorithm>
#include <cmath>

#include "op/activation.h"
#include "op/arg_max.h"
#include "op/binary.h"
#include "op/inner_product.h"
#include "op/prelu.h"
#include "op/recurrent.h"
#include "op/softmax.h"
#include "op/split_v.h"
#include "op/top_k.h"
#include "planted_cause.h"
#include "reference/core/variants.h"

namespace plumb {
namespace {

Graph LeakyGraph(float slope) {
  if (slope == 0) return GraphOf({MakeLayer(OpKind::kReLU, "layer", {"x"}, {"y"})}, {2, 4, 8});
  return GraphOf({LayerOf<LeakyReluParam>(OpKind::kLeakyRelu, [=](LeakyReluParam* p) { p->slope = slope; })},
                 {2, 4, 8});
}

// gelu(x W + b) in the operators that exporters write; the runtime has the whole as one layer.
PlantedCause FusedGelu() {
  Layer dense = LayerOf<InnerProductParam>(OpKind::kInnerProduct, [](InnerProductParam* p) { p->num_output = 24; });
  dense.resources = {{"weight", Gauss({24, 32}, 0.3)}};
  dense.outputs = {"d"};
  Graph graph = GraphOf(
      {dense, MakeLayer(OpKind::kAdd, "bias", {"d", "b"}, {"a"}), MakeLayer(OpKind::kDiv, "root", {"a", "r"}, {"q"}),
       MakeLayer(OpKind::kErf, "erf", {"q"}, {"e"}), MakeLayer(OpKind::kAdd, "one", {"e", "1"}, {"o"}),
       MakeLayer(OpKind::kMul, "times", {"a", "o"}, {"t"}), MakeLayer(OpKind::kMul, "half", {"t", "h"}, {"y"})},
      {4, 32});
  graph.constants = {{"b", Gauss({24}, 0.1)}, {"r", One(1.41421356f)}, {"1", One(1)}, {"h", One(0.5f)}};
  PlantedCause plant{"tanh-GELU behind a product", graph, graph, "as tanh-GELU; the graph says erf-GELU"};
  const Tensor x = Gauss(graph.inputs[0].shape);
  Graph linear = graph;
  linear.layers.resize(2);
  linear.layers[1].outputs = {"y"};
  const Tensor a = ComputedBy(linear, x);
  plant.spoil = [a](Tensor* y) {
    for (int64_t i = 0; i < y->NumElements(); ++i) {
      const auto v = static_cast<double>(a.data<float>()[i]);
      y->data<float>()[i] =
          static_cast<float>(0.5 * v * (1 + std::tanh(0.79788456080286535588 * (v + 0.044715 * v * v * v))));
    }
  };
  return plant;
}

Graph Simple(OpKind kind) { return GraphOf({MakeLayer(kind, "layer", {"x"}, {"y"})}, {2, 4, 8}); }

// The graph behind a product with a number.
Graph Scaled(Graph graph, float factor) {
  graph.layers[0].inputs = {"s"};
  graph.layers.insert(graph.layers.begin(), MakeLayer(OpKind::kMul, "scale", {"x", "k"}, {"s"}));
  graph.constants["k"] = One(factor);
  return graph;
}

Graph Slopes(bool one) {
  Layer layer = LayerOf<PReLUParam>(OpKind::kPReLU, [](PReLUParam*) {});
  Tensor slope = Tensor::Create(DType::kF32, {4}).value();
  for (int64_t i = 0; i < 4; ++i) slope.data<float>()[i] = 0.1f * static_cast<float>(one ? 1 : i + 1);
  layer.resources = {{"slope", slope}};
  return GraphOf({layer}, {2, 4, 8});
}

// x / c or c / x
Graph Quotient(int constant_at) {
  Layer layer = LayerOf<BinaryParam>(OpKind::kDiv, [=](BinaryParam* p) { p->weight_input_index = constant_at; });
  layer.resources = {{"element", One(3)}};
  return GraphOf({layer}, {2, 4, 8});
}

std::vector<PlantedCause> ActivationPlants() {
  const Tensor large = Gauss({2, 4, 8}, 8);
  const Graph relu = LeakyGraph(0), six = GraphOf({MakeLayer(OpKind::kReLU6, "layer", {"x"}, {"y"})}, {2, 4, 8});
  Graph warm = GraphOf({LayerOf<SoftmaxParam>(OpKind::kSoftmax, [](SoftmaxParam* p) { p->axis = 3; })}, {1, 2, 8, 8});
  return {{"LeakyRelu for ReLU", relu, LeakyGraph(0.01f), "as LeakyRelu with slope 0.01; the graph says ReLU"},
          {"ReLU6 for ReLU", relu, six, "as ReLU6; the graph says ReLU", false, large},
          {"a temperature", warm, Scaled(warm, 0.5f), "of its input times 0.5"},
          {"ReLU for Elu", GraphOf({LayerOf<EluParam>(OpKind::kElu, [](EluParam* p) { p->alpha = 1; })}, {2, 4, 8}),
           relu, "as ReLU; the graph says Elu"},
          {"ReLU for Softplus", Simple(OpKind::kSoftplus), relu, "as ReLU; the graph says Softplus"},
          {"Tanh for Erf", Simple(OpKind::kErf), Simple(OpKind::kTanh), "as Tanh; the graph says Erf"},
          {"one slope for all", Slopes(false), Slopes(true), "with the first slope for every channel"},
          {"a constant as the other operand", Quotient(1), Quotient(0), "with its operands exchanged"},
          FusedGelu()};
}

constexpr int64_t kSize = 5, kHidden = 6, kTime = 7;

// Of `gates` gates, forward, with bias and initial states.
Graph Recurrent(OpKind kind, int64_t gates, const std::function<void(RecurrentParam*)>& set = nullptr) {
  const bool lstm = kind == OpKind::kPlumbLSTM;
  std::vector<std::string> inputs = {"x", "w", "r", "b", "h"};
  if (lstm) inputs.push_back("c");
  Layer layer = LayerOf<RecurrentParam>(
      kind,
      [&](RecurrentParam* p) {
        p->hidden_size = kHidden, p->has_bias = p->has_initial_h = true, p->has_initial_c = lstm;
        if (set) set(p);
      },
      inputs);
  layer.outputs = {"y", "y_h"};
  if (lstm) layer.outputs.emplace_back("y_c");
  Graph graph = GraphOf({layer}, {kTime, 1, kSize});
  graph.outputs = {"y"};
  graph.constants = {{"w", Gauss({1, gates * kHidden, kSize}, 0.5)},
                     {"r", Gauss({1, gates * kHidden, kHidden}, 0.5)},
                     {"b", Gauss({1, 2 * gates * kHidden}, 0.5)},
                     {"h", Gauss({1, 1, kHidden}, 0.7)}};
  if (lstm) graph.constants["c"] = Gauss({1, 1, kHidden}, 0.8);
  return graph;
}

// The constants with their blocks of rows, one per gate, in another order.
Graph WithGates(Graph graph, const std::vector<int64_t>& order, const std::vector<std::string>& constants) {
  for (const std::string& name : constants) {
    const Tensor before = graph.constants.at(name);
    Tensor after = before.Clone().value();
    const int64_t block = kHidden * before.shape().CountFrom(2), gates = static_cast<int64_t>(order.size());
    for (int64_t i = 0; i < after.NumElements(); ++i) {
      const int64_t gate = i / block % gates;
      after.data<float>()[i] = before.data<float>()[i + (order[static_cast<size_t>(gate)] - gate) * block];
    }
    graph.constants[name] = after;
  }
  return graph;
}

Graph WithZeros(Graph graph, const std::string& constant) {
  graph.constants[constant] = Tensor::Zeros(DType::kF32, graph.constants.at(constant).shape()).value();
  return graph;
}

Graph WithTurnedState(Graph graph) {
  const Tensor before = graph.constants.at("r");
  Tensor after = before.Clone().value();
  for (int64_t i = 0; i < after.NumElements(); ++i) {
    const int64_t row = i / kHidden % kHidden, column = i % kHidden;
    after.data<float>()[i] = before.data<float>()[i + (column - row) * kHidden + row - column];
  }
  graph.constants["r"] = after;
  return graph;
}

Graph WithOtherUpdate(Graph graph) {
  for (const char* name : {"w", "r", "b"}) {
    Tensor turned = graph.constants.at(name).Clone().value();
    const int64_t block = kHidden * turned.shape().CountFrom(2);
    for (int64_t i = 0; i < turned.NumElements(); ++i) turned.data<float>()[i] *= i / block % 3 == 0 ? -1.0f : 1.0f;
    graph.constants[name] = turned;
  }
  return graph;
}

std::vector<PlantedCause> RecurrentPlants() {
  const Graph lstm = Recurrent(OpKind::kPlumbLSTM, 4), gru = Recurrent(OpKind::kPlumbGRU, 3),
              rnn = Recurrent(OpKind::kPlumbRNN, 1);
  const std::vector<std::string> all = {"w", "r", "b"};
  return {
      {"LSTM in the order of PyTorch", lstm, WithGates(lstm, {0, 2, 3, 1}, all), "weights in the order i f c o"},
      {"LSTM weights alone", lstm, WithGates(lstm, {0, 2, 3, 1}, {"w", "r"}), "weights, not of the bias, in the order"},
      {"GRU with r and z exchanged", gru, WithGates(gru, {1, 0, 2}, all), "weights in the order r z h"},
      {"GRU with z for 1 - z", gru, WithOtherUpdate(gru), "with z and 1 - z exchanged"},
      {"GRU with linear_before_reset", gru,
       Recurrent(OpKind::kPlumbGRU, 3, [](RecurrentParam* p) { p->linear_before_reset = true; }),
       "with linear_before_reset"},
      {"RNN backwards", rnn, Recurrent(OpKind::kPlumbRNN, 1, [](RecurrentParam* p) { p->direction = "reverse"; }),
       "from the end to the beginning"},
      {"LSTM without its bias", lstm, WithZeros(lstm, "b"), "without the bias"},
      {"LSTM from c = 0", lstm, WithZeros(lstm, "c"), "with an initial c of 0"},
      {"RNN from h = 0", rnn, WithZeros(rnn, "h"), "with an initial h of 0"},
      {"GRU of transposed state weights", gru, WithTurnedState(gru), "with the recurrent weights transposed"}};
}

// With peepholes or lengths besides.
Graph WithInput(Graph graph, const std::string& name, const Tensor& value,
                const std::function<void(RecurrentParam*)>& set) {
  Layer& layer = graph.layers[0];
  auto param = std::make_shared<RecurrentParam>(ParamOf<RecurrentParam>(layer));
  set(param.get());
  layer.param = param;
  const auto at = name == "lengths" ? layer.inputs.begin() + 4 : layer.inputs.end();
  layer.inputs.insert(at, name);
  graph.constants[name] = value;
  return graph;
}

Tensor Lengths(int steps) {
  Tensor lengths = Tensor::Create(DType::kI32, {1}).value();
  lengths.data<int32_t>()[0] = steps;
  return lengths;
}

Tensor WithForgetBias(const Tensor& bias) {
  Tensor more = bias.Clone().value();
  for (int64_t i = 2 * kHidden; i < 3 * kHidden; ++i) more.data<float>()[i] += 1;
  return more;
}

Tensor WithoutBiasOfR(const Tensor& bias) {
  Tensor half = bias.Clone().value();
  for (int64_t i = half.NumElements() / 2; i < half.NumElements(); ++i) half.data<float>()[i] = 0;
  return half;
}

// What the layer writes by another reference.
PlantedCause ByReference(const std::string& name, const Graph& graph, const ReferenceOp& op, const std::string& words) {
  PlantedCause plant{name, graph, graph, words, false, Gauss(graph.inputs[0].shape)};
  plant.spoil = [graph, op, x = plant.x](Tensor* y) {
    const BlobTable infos = InferShapes(graph).value();
    const Layer& layer = graph.layers[0];
    ReferenceArgs args{layer, {}, {}};
    for (const std::string& input : layer.inputs) args.inputs.push_back(input == "x" ? &x : &graph.constants.at(input));
    std::vector<Tensor> outputs;
    for (const std::string& output : layer.outputs)
      outputs.push_back(Tensor::Create(DType::kF32, infos.at(output).shape).value());
    for (Tensor& output : outputs) args.outputs.push_back(&output);
    ASSERT_TRUE(op.run(args).ok());
    *y = outputs[0];
  };
  return plant;
}

std::vector<PlantedCause> MoreRecurrentPlants() {
  const Graph lstm = Recurrent(OpKind::kPlumbLSTM, 4), gru = Recurrent(OpKind::kPlumbGRU, 3);
  const auto clipped = [](OpKind kind, int64_t gates, float clip) {
    return Recurrent(kind, gates, [=](RecurrentParam* p) { p->clip = clip; });
  };
  const Graph peeped =
      WithInput(lstm, "p", Gauss({1, 3 * kHidden}), [](RecurrentParam* p) { p->has_peepholes = true; });
  const auto ended = [&](int steps) {
    return WithInput(lstm, "lengths", Lengths(steps), [](RecurrentParam* p) { p->has_lengths = true; });
  };
  Graph forgetful = lstm, half = gru;
  forgetful.constants["b"] = WithForgetBias(lstm.constants.at("b"));
  half.constants["b"] = WithoutBiasOfR(gru.constants.at("b"));
  const auto hard = [](RecurrentParam* p) { p->activations = "HardSigmoid:0.2:0.5;Tanh"; };
  return {{"LSTM without its clip", clipped(OpKind::kPlumbLSTM, 4, 0.5f), lstm, "without the clip"},
          {"LSTM without peepholes", peeped, WithZeros(peeped, "p"), "without the peepholes"},
          {"LSTM without lengths", ended(4), ended(kTime), "without sequence_lens"},
          {"LSTM with a forget bias", lstm, forgetful, "with 1 added to the forget gate's bias"},
          {"GRU without the bias of R", gru, half, "without the bias of R"},
          {"GRU with a hard sigmoid", gru, Recurrent(OpKind::kPlumbGRU, 3, hard), "with HardSigmoid of slope 0.2"},
          ByReference("GRU that keeps its state", gru, KeptStateRecurrent(),
                      "with the state that an earlier call on the same input left"),
          ByReference("LSTM that clips no cell", clipped(OpKind::kPlumbLSTM, 4, 0.3f), UnclippedCellLstm(),
                      "without clipping the cell's state in front of its Tanh")};
}

Graph Extreme(int mode) {
  return GraphOf({LayerOf<ArgMaxParam>(OpKind::kArgMaxOrMin, [=](ArgMaxParam* p) { p->mode = mode, p->axis = 1; })},
                 {2, 9, 7});
}

Graph Top(bool largest) {
  Layer layer = LayerOf<TopKParam>(OpKind::kTopK, [=](TopKParam* p) { p->k = 3, p->largest = largest; });
  layer.outputs = {"y", "i"};
  Graph graph = GraphOf({layer}, {4, 20});
  graph.outputs = {"y"};
  return graph;
}

Graph Compared(OpKind kind) {
  Graph graph = GraphOf({MakeLayer(kind, "layer", {"x", "b"}, {"y"})}, {4, 20});
  graph.constants["b"] = Tensor::Zeros(DType::kF32, {20}).value();
  return graph;
}

Graph Chosen(const std::string& yes, const std::string& no) {
  Graph graph = GraphOf({MakeLayer(OpKind::kTanh, "t", {"x"}, {"a"}), MakeLayer(OpKind::kSigmoid, "s", {"x"}, {"b"}),
                         MakeLayer(OpKind::kWhere, "where", {yes, no, "mask"}, {"y"})},
                        {4, 6});
  Tensor mask = Tensor::Create(DType::kBool, {4, 6}).value();
  for (int64_t i = 0; i < 24; ++i) static_cast<uint8_t*>(mask.raw())[i] = static_cast<uint8_t>(i % 3 == 0);
  graph.constants["mask"] = mask;
  return graph;
}

// The first of two pieces; `first`: which of the tensor's halves it is.
Graph Piece(bool first) {
  Layer layer = LayerOf<SplitVParam>(OpKind::kSplitV, [](SplitVParam* p) { p->axis = 1, p->slices = {4, 4}; });
  layer.outputs = first ? std::vector<std::string>{"y", "z"} : std::vector<std::string>{"z", "y"};
  Graph graph = GraphOf({layer}, {3, 8});
  graph.outputs = {"y"};
  return graph;
}

std::vector<PlantedCause> ChoicePlants() {
  return {{"ArgMin for ArgMax", Extreme(1), Extreme(0), "as ArgMin; the graph says ArgMax"},
          {"the smallest", Top(true), Top(false), "with the smallest; the graph says the largest"},
          {"Less for Greater", Compared(OpKind::kGreater), Compared(OpKind::kLess), "as Less; the graph says Greater"},
          {"branches exchanged", Chosen("a", "b"), Chosen("b", "a"), "with its two branches exchanged"},
          {"pieces exchanged", Piece(true), Piece(false), "with 'y' and 'z' exchanged"}};
}

std::vector<PlantedCause> AllOthers() {
  std::vector<PlantedCause> plants;
  for (const auto& of : {ActivationPlants(), RecurrentPlants(), MoreRecurrentPlants(), ChoicePlants()})
    plants.insert(plants.end(), of.begin(), of.end());
  return plants;
}

class PlantedChoices : public testing::TestWithParam<PlantedCause> {};
TEST_P(PlantedChoices, AreNamedAndNoOthers) { ExpectPlanted(GetParam()); }
INSTANTIATE_TEST_SUITE_P(All, PlantedChoices, testing::ValuesIn(AllOthers()), PlantName);

}  // namespace
}  // namespace plumb
