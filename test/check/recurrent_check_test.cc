// SPDX-License-Identifier: Apache-2.0
// Recurrent layers are judged step by step: each step starts from the h that the device had. The device here is the
// reference in f32, one step at a time, so that a test can spoil its state between two steps.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "base/half.h"
#include "op/recurrent.h"
#include "plumb/check.h"
#include "reference/core/reference_op.h"
#include "util/make_layer.h"
#include "util/stored_blobs.h"

namespace plumb {
namespace {

constexpr int64_t kSteps = 200, kBatch = 2, kSize = 8, kHidden = 24;

Tensor Gauss(const Shape& shape, double scale, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> gauss(0, scale);
  Tensor tensor = Tensor::Create(DType::kF32, shape).value();
  for (int64_t i = 0; i < tensor.NumElements(); ++i) tensor.data<float>()[i] = static_cast<float>(gauss(random));
  return tensor;
}

// x -> layer -> Y, Y_h[, Y_c]. R's gain is far above 1: what two runs differ by grows from step to step.
Graph Network(OpKind kind, const std::string& direction = "forward") {
  const int64_t gates = kind == OpKind::kPlumbLSTM ? 4 : kind == OpKind::kPlumbGRU ? 3 : 1;
  const int64_t directions = direction == "bidirectional" ? 2 : 1;
  Layer layer = MakeLayer(kind, "cell", {"x", "W", "R", "B"}, {"Y", "Y_h"});
  if (kind == OpKind::kPlumbLSTM) layer.outputs.push_back("Y_c");
  auto& param = static_cast<RecurrentParam&>(*layer.param);
  param.hidden_size = static_cast<int>(kHidden);
  param.direction = direction;
  param.has_bias = true;
  Graph graph;
  graph.inputs = {{"x", DType::kF32, {kSteps, kBatch, kSize}}};
  graph.outputs = layer.outputs;
  graph.constants["W"] = Gauss({directions, gates * kHidden, kSize}, 0.5, 1);
  graph.constants["R"] = Gauss({directions, gates * kHidden, kHidden}, 8 / std::sqrt(double{kHidden}), 2);
  graph.constants["B"] = Gauss({directions, 2 * gates * kHidden}, 0.3, 3);
  graph.layers = {layer};
  return graph;
}

struct State {
  Tensor h, c;
};
using Spoil = std::function<void(int64_t step, State* state)>;

// What a device computes whose state is f32 at every step. REQUIRES: direction forward.
Stored RunSteps(const Graph& graph, const Tensor& x, const Spoil& spoil) {
  Layer step = graph.layers[0];
  step.param = step.param->Clone();
  auto& param = static_cast<RecurrentParam&>(*step.param);
  const bool lstm = step.kind == OpKind::kPlumbLSTM;
  param.has_initial_h = true;
  param.has_initial_c = lstm;
  const Shape shape{1, kBatch, kHidden};
  const auto zeros = [](const Shape& s) { return Tensor::Zeros(DType::kF32, s).value(); };
  State state{zeros(shape), zeros(shape)};
  Tensor all = zeros({kSteps, 1, kBatch, kHidden});
  for (int64_t t = 0; t < kSteps; ++t) {
    Tensor now = zeros({1, kBatch, kSize}), y = zeros({1, 1, kBatch, kHidden}), h = zeros(shape), c = zeros(shape);
    std::copy_n(x.data<float>() + t * kBatch * kSize, kBatch * kSize, now.data<float>());
    ReferenceArgs args{step, {&now}, {&y, &h}};
    for (const char* name : {"W", "R", "B"}) args.inputs.push_back(&graph.constants.at(name));
    args.inputs.push_back(&state.h);
    if (lstm) {
      args.inputs.push_back(&state.c);
      args.outputs.push_back(&c);
    }
    EXPECT_TRUE(GetReferenceOp(step.kind).run(args).ok());
    state = {h, c};
    if (spoil) spoil(t, &state);
    std::copy_n(state.h.data<float>(), kBatch * kHidden, all.data<float>() + t * kBatch * kHidden);
  }
  Stored subject;
  subject.blobs = {{"x", x}, {"Y", all}, {"Y_h", state.h}};
  if (lstm) subject.blobs["Y_c"] = state.c;
  return subject;
}

LayerReport Judged(const Graph& graph, const Stored& subject, const Tensor& x) {
  return CheckSubjectBlobs(graph, subject, {{"x", x}}, {}).value().layers.at(0);
}

void RoundToHalf(Tensor* t) {
  for (int64_t i = 0; i < t->NumElements(); ++i) t->data<float>()[i] = HalfToFloat(FloatToHalf(t->data<float>()[i]));
}

const OpKind kKinds[] = {OpKind::kPlumbLSTM, OpKind::kPlumbGRU, OpKind::kPlumbRNN};
const Tensor& Input() {
  static const Tensor x = Gauss({kSteps, kBatch, kSize}, 1, 4);
  return x;
}

TEST(RecurrentCheck, TheBoundStaysTightOverManySteps) {
  for (const OpKind kind : kKinds) {
    const Graph graph = Network(kind);
    const LayerReport layer = Judged(graph, RunSteps(graph, Input(), {}), Input());
    EXPECT_EQ(layer.verdict, Verdict::kAligned) << graph.layers[0].type << ": " << layer.reason;
    EXPECT_EQ(layer.reason, "") << graph.layers[0].type;
    for (const OutputReport& output : layer.outputs) EXPECT_LT(output.smallest_fault, 1e-5) << output.blob;
    EXPECT_GT(layer.outputs[0].inherited.max_abs, 0.1) << "not expansive: the test shows nothing";
  }
}

TEST(RecurrentCheck, WithoutTheStatesTheBoundIsCarriedAndSaidToBeWeak) {
  for (const OpKind kind : kKinds) {
    const Graph graph = Network(kind);
    Stored subject = RunSteps(graph, Input(), {});
    subject.blobs.erase("Y");
    const LayerReport layer = Judged(graph, subject, Input());
    EXPECT_EQ(layer.verdict, Verdict::kAligned) << graph.layers[0].type;
    EXPECT_NE(layer.reason.find("weakly tested: the bound is "), std::string::npos) << layer.reason;
  }
}

TEST(RecurrentCheck, OneWrongElementIsFoundAtItsStep) {
  for (const OpKind kind : kKinds) {
    const Graph graph = Network(kind);
    const Stored subject = RunSteps(graph, Input(), [](int64_t step, State* state) {
      if (step == 150) state->h.data<float>()[kHidden + 5] += 1e-3f;
    });
    const LayerReport layer = Judged(graph, subject, Input());
    EXPECT_EQ(layer.verdict, Verdict::kWrong) << graph.layers[0].type;
    EXPECT_EQ(layer.outputs[0].introduced.worst, 150 * kBatch * kHidden + kHidden + 5) << graph.layers[0].type;
    EXPECT_NE(layer.outputs[1].verdict, Verdict::kWrong) << "the last step is right";
  }
}

TEST(RecurrentCheck, TheFirstAxisIsCalledTime) {
  const Graph graph = Network(OpKind::kPlumbGRU);
  const Stored subject = RunSteps(graph, Input(), [](int64_t step, State* state) {
    for (int64_t i = 0; step == 150 && i < kBatch * kHidden; ++i) state->h.data<float>()[i] += 0.1f;
  });
  const LayerReport layer = Judged(graph, subject, Input());
  EXPECT_EQ(layer.verdict, Verdict::kWrong);
  const std::string said = layer.outputs[0].reason + layer.reason + layer.cause;
  EXPECT_NE(said.find("only time step 150"), std::string::npos) << said;
  EXPECT_EQ(said.find("batch element"), std::string::npos) << said;
}

// A tanh that ends at 1 - 6e-7 (tract's) is off by as much at each step of saturated gates: one error, not thousands.
TEST(RecurrentCheck, AnErrorThatSaturatedGatesRepeatCountsOnce) {
  const Graph graph = Network(OpKind::kPlumbRNN);
  const auto judged = [&](double size) {
    const Tensor x = Gauss({kSteps, kBatch, kSize}, size, 4);
    const Stored subject = RunSteps(graph, x, [](int64_t, State* state) {
      for (int64_t i = 0; i < state->h.NumElements(); ++i) state->h.data<float>()[i] *= 1 - 6e-7f;
    });
    return Judged(graph, subject, x);
  };
  const LayerReport saturated = judged(1e7);
  EXPECT_EQ(saturated.verdict, Verdict::kAligned) << saturated.reason;
  EXPECT_GT(saturated.outputs[0].excess, 0.3);
  EXPECT_EQ(judged(0.01).verdict, Verdict::kWrong) << "each of these is an error of its own";
}

TEST(RecurrentCheck, AStateInHalfPrecisionIsWrong) {
  for (const OpKind kind : kKinds) {
    const Graph graph = Network(kind);
    const Stored hidden = RunSteps(graph, Input(), [](int64_t, State* state) { RoundToHalf(&state->h); });
    EXPECT_EQ(Judged(graph, hidden, Input()).verdict, Verdict::kWrong) << graph.layers[0].type;
  }
  const Graph graph = Network(OpKind::kPlumbLSTM);
  const Stored cell = RunSteps(graph, Input(), [](int64_t, State* state) { RoundToHalf(&state->c); });
  EXPECT_EQ(Judged(graph, cell, Input()).verdict, Verdict::kWrong) << "c alone";
}

TEST(RecurrentCheck, LinearBeforeResetSwappedIsWrong) {
  for (const bool linear : {false, true}) {
    Graph graph = Network(OpKind::kPlumbGRU);
    auto& param = static_cast<RecurrentParam&>(*graph.layers[0].param);
    param.linear_before_reset = linear;
    EXPECT_EQ(Judged(graph, RunSteps(graph, Input(), {}), Input()).verdict, Verdict::kAligned);
    param.linear_before_reset = !linear;
    const Stored subject = RunSteps(graph, Input(), {});
    param.linear_before_reset = linear;
    EXPECT_EQ(Judged(graph, subject, Input()).verdict, Verdict::kWrong);
  }
}

TEST(RecurrentCheck, EachDirectionFollowsItsOwnSteps) {
  for (const char* direction : {"reverse", "bidirectional"}) {
    Graph graph = Network(OpKind::kPlumbGRU, direction);
    Layer& layer = graph.layers[0];
    static_cast<RecurrentParam&>(*layer.param).has_lengths = true;
    layer.inputs.push_back("lengths");
    graph.constants["lengths"] = Tensor::Create(DType::kI32, {kBatch}).value();
    graph.constants["lengths"].data<int32_t>()[0] = kSteps;
    graph.constants["lengths"].data<int32_t>()[1] = 120;
    const BlobTable blobs = InferShapes(graph).value();
    Stored subject;
    ReferenceArgs args{layer, {&Input()}, {}};
    for (const char* name : {"W", "R", "B", "lengths"}) args.inputs.push_back(&graph.constants.at(name));
    for (const std::string& name : layer.outputs) {
      subject.blobs[name] = Tensor::Create(DType::kF32, blobs.at(name).shape).value();
      args.outputs.push_back(&subject.blobs[name]);
    }
    ASSERT_TRUE(GetReferenceOp(layer.kind).run(args).ok());
    subject.blobs["x"] = Input();
    const LayerReport report = Judged(graph, subject, Input());
    EXPECT_EQ(report.verdict, Verdict::kAligned) << direction << ": " << report.reason;
    EXPECT_LT(report.outputs[0].smallest_fault, 1e-5) << direction;
  }
}

}  // namespace
}  // namespace plumb
