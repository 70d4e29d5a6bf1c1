// SPDX-License-Identifier: Apache-2.0
// What the errors of wrong layers do to the network's outputs (check/walk/answer_effects.h), on a linear network whose
// effects are known: y = W2 h + h with h = W1 x, so that an error a of h makes (W2 + 1) a, and one b behind W2 makes b.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "check/report/util.h"
#include "computed_otherwise_util.h"
#include "op/inner_product.h"

namespace plumb {
namespace {

constexpr int kScores = 6;
using Values = std::vector<double>;

Layer Product(const std::string& name, const std::string& in, const std::string& out, double scale) {
  Layer layer = MakeLayer(OpKind::kInnerProduct, name, {in}, {out});
  auto param = std::make_shared<InnerProductParam>();
  param->num_output = kScores;
  layer.param = param;
  layer.resources["weight"] = Gauss({kScores, kScores}, scale);
  return layer;
}

Graph Linear() {
  return GraphOf({Product("first", "x", "h", 1), Product("second", "h", "s", 0.5),
                  MakeLayer(OpKind::kAdd, "sum", {"s", "h"}, {"y"})},
                 {1, kScores});
}

Values Times(const Layer& layer, const Values& x) {
  Values y(kScores);
  for (size_t o = 0; o < kScores; ++o) {
    for (size_t k = 0; k < kScores; ++k)
      y[o] += static_cast<double>(layer.Resource("weight")->data<float>()[o * kScores + k]) * x[k];
  }
  return y;
}

Values Plus(const Values& a, const Values& b) {
  Values sum = a;
  for (size_t i = 0; i < kScores; ++i) sum[i] += b[i];
  return sum;
}

Tensor AsTensor(const Values& values) {
  Tensor tensor = Tensor::Create(DType::kF32, {1, kScores}).value();
  for (size_t i = 0; i < kScores; ++i) tensor.data<float>()[i] = static_cast<float>(values[i]);
  return tensor;
}

double Dot(const Values& a, const Values& b) {
  double sum = 0;
  for (size_t i = 0; i < kScores; ++i) sum += a[i] * b[i];
  return sum;
}

size_t Top(const Values& scores) {
  return static_cast<size_t>(std::max_element(scores.begin(), scores.end()) - scores.begin());
}

// What a device with the errors `first` and `second` computes, judged.
RunReport WithErrors(const Graph& graph, const Values& first, const Values& second,
                     const SubjectOptions& options = {}) {
  const Tensor x = Gauss({1, kScores});
  const Values input(x.data<float>(), x.data<float>() + kScores);
  const Values h = Plus(Times(graph.layers[0], input), first);
  const Values s = Plus(Times(graph.layers[1], h), second);
  Stored subject;
  subject.blobs = {{"x", x}, {"h", AsTensor(h)}, {"s", AsTensor(s)}, {"y", AsTensor(Plus(s, h))}};
  return CheckSubjectBlobs(graph, subject, {{"x", x}}, options).value();
}

Values ReferenceOf(const RunReport& run) {
  Values values;
  for (int64_t i = 0; i < kScores; ++i) values.push_back(run.outputs[0].reference.ValueAt(i));
  return values;
}

TEST(AnswerEffects, SharesAreSignedAndAddUp) {
  const Graph graph = Linear();
  const Values first = {0.02, 0, -0.01, 0, 0, 0.03}, second = {0, 0.01, 0.004, 0, -0.02, 0};
  const RunReport run = WithErrors(graph, first, second);
  ASSERT_EQ(run.Count(Verdict::kWrong), 2);
  const Values by_first = Plus(Times(graph.layers[1], first), first), whole = Plus(by_first, second);
  const OutputEffect& effect = run.outputs[0].effect;
  ASSERT_EQ(effect.layers.size(), 2u);
  double sum = effect.others;
  for (const LayerEffect& layer : effect.layers) {
    const Values& part = layer.step.index == 0 ? by_first : second;
    EXPECT_NEAR(layer.share, Dot(part, whole) / Dot(whole, whole), 1e-4) << layer.step.name;
    EXPECT_NEAR(layer.max_abs,
                std::fabs(*std::max_element(part.begin(), part.end(),
                                            [](double a, double b) { return std::fabs(a) < std::fabs(b); })),
                1e-5)
        << layer.step.name;
    sum += layer.share;
  }
  EXPECT_NEAR(sum, 1, 1e-12);
  EXPECT_NEAR(effect.others, 0, 1e-4);
  EXPECT_GE(std::fabs(effect.layers[0].share), std::fabs(effect.layers[1].share)) << "the largest first";
}

TEST(AnswerEffects, ErrorsThatCancelAreSaid) {
  const Graph graph = Linear();
  const Values first = {0.02, 0.01, 0, 0, 0, 0};
  Values against = Plus(Times(graph.layers[1], first), first);
  for (double& v : against) v *= -0.9;
  const RunReport run = WithErrors(graph, first, against);
  const OutputEffect& effect = run.outputs[0].effect;
  ASSERT_EQ(effect.layers.size(), 2u);
  EXPECT_NEAR(effect.layers[0].share, 10, 0.01);
  EXPECT_NEAR(effect.layers[1].share, -9, 0.01);
  const std::vector<std::string> said = EffectSentences(run, run.outputs[0]);
  ASSERT_EQ(said.size(), 1u);
  EXPECT_EQ(said[0],
            "'first' makes 1000 % of its error, 'second' makes -900 %, everything else less than 0.1 %; what is below "
            "0 cancels a part of the rest");
}

TEST(AnswerEffects, WhatMovedTheMarginOfAChangedTop1) {
  const Graph graph = Linear();
  const Values right = ReferenceOf(WithErrors(graph, Values(kScores), Values(kScores)));
  const size_t best = Top(right), other = (best + 1) % kScores;
  Values first(kScores), second(kScores);
  first[0] = 1e-3;
  second[other] = right[best] - right[other] + 0.5;
  const RunReport run = WithErrors(graph, first, second);
  const OutputEffect& effect = run.outputs[0].effect;
  EXPECT_NEAR(effect.margin, right[best] - right[other], 1e-5);
  EXPECT_GE(effect.moved, effect.margin);
  ASSERT_EQ(effect.layers.size(), 2u);
  EXPECT_EQ(effect.layers[0].step.index, 1);
  EXPECT_NEAR(effect.layers[0].margin, second[other], 1e-5);
  EXPECT_NEAR(effect.layers[0].margin + effect.layers[1].margin + effect.others_margin, effect.moved, 1e-9);
  EXPECT_EQ(effect.layers[0].top1_healed, static_cast<int64_t>(best)) << "with the reference from 'second' on";
  ASSERT_EQ(run.choices.size(), 1u);
  ASSERT_EQ(run.choices[0].layers.size(), 1u) << "the answer is a choice, by 'second'";
  EXPECT_EQ(run.choices[0].layers[0].step.index, 1);
}

TEST(AnswerEffects, NamesItsLayersWhereOthersAreDropped) {
  const Graph graph = Linear();
  Values first(kScores), second(kScores);
  first[0] = 1e-3;
  second[1] = 0.5;
  SubjectOptions options;
  options.check.layers = {graph.layers[1].name};
  const RunReport run = WithErrors(graph, first, second, options);
  ASSERT_EQ(run.layers.size(), 1u);
  std::vector<std::string> names;
  for (const LayerEffect& layer : run.outputs[0].effect.layers) names.push_back(layer.step.name);
  std::sort(names.begin(), names.end());
  std::vector<std::string> both = {graph.layers[0].name, graph.layers[1].name};
  std::sort(both.begin(), both.end());
  EXPECT_EQ(names, both);
}

TEST(AnswerEffects, RoundingAloneIsSaidToExplainATie) {
  Graph graph = GraphOf({Product("only", "x", "y", 1)}, {1, kScores});
  const Tensor x = Gauss({1, kScores});
  const Values input(x.data<float>(), x.data<float>() + kScores);
  Values y = Times(graph.layers[0], input);
  const size_t best = Top(y), other = (best + 1) % kScores;
  // Two equal rows but for the last bit of a weight: rounding decides which score is larger.
  Tensor& weight = graph.layers[0].resources["weight"];
  for (size_t k = 0; k < kScores; ++k)
    weight.data<float>()[other * kScores + k] = weight.data<float>()[best * kScores + k];
  float& last = weight.data<float>()[best * kScores];
  last = std::nextafterf(last, x.data<float>()[0] > 0 ? INFINITY : -INFINITY);
  y = Times(graph.layers[0], input);
  Tensor device = AsTensor(y);
  device.data<float>()[other] = std::nextafterf(device.data<float>()[best], INFINITY);
  Stored subject;
  subject.blobs = {{"x", x}, {"y", device}};
  const RunReport run = CheckSubjectBlobs(graph, subject, {{"x", x}}, {}).value();
  EXPECT_EQ(run.verdict, Verdict::kAligned);
  const std::vector<std::string> said = EffectSentences(run, run.outputs[0]);
  ASSERT_EQ(said.size(), 1u);
  EXPECT_NE(said[0].find("no layer is wrong, rounding explains it"), std::string::npos) << said[0];
  ASSERT_EQ(run.choices.size(), 1u) << "the answer is a choice";
  EXPECT_EQ(run.choices[0].by_rounding, 1);
  EXPECT_EQ(run.choices[0].margin, run.outputs[0].effect.margin);
  EXPECT_GE(run.choices[0].reach, run.choices[0].margin);
  EXPECT_LT(run.choices[0].reach, 1e-4) << "of scores of 1 in f32";
}

// The reference cannot go on from a tensor of another shape: nothing is known of it, and nothing reads beyond its end.
TEST(AnswerEffects, ATensorOfAnotherShapeIsNotFollowed) {
  const Graph graph = Linear();
  const Tensor x = Gauss({1, kScores});
  Stored subject;
  subject.blobs = {{"x", x}, {"h", Gauss({1, 2})}, {"s", Gauss({1, kScores})}, {"y", Gauss({1, kScores}, 3)}};
  const RunReport run = CheckSubjectBlobs(graph, subject, {{"x", x}}, {}).value();
  EXPECT_EQ(run.layers[0].verdict, Verdict::kWrong);
  EXPECT_TRUE(run.outputs[0].effect.layers.empty());
}

TEST(AnswerEffects, AnAlignedRunSaysNothing) {
  const RunReport run = WithErrors(Linear(), Values(kScores), Values(kScores));
  EXPECT_EQ(run.verdict, Verdict::kAligned);
  EXPECT_TRUE(EffectSentences(run, run.outputs[0]).empty());
}

// The fifth wrong layer and those behind it are not followed, but counted.
TEST(AnswerEffects, OnlyTheFirstWrongLayersAreFollowed) {
  std::vector<Layer> layers;
  Stored subject;
  Tensor x = Gauss({1, kScores});
  subject.blobs["b0"] = x;
  for (int i = 0; i < 6; ++i) {
    layers.push_back(Product("p" + std::to_string(i), "b" + std::to_string(i), "b" + std::to_string(i + 1), 0.5));
    const float* in = subject.blobs.at(layers.back().inputs[0]).data<float>();
    Values y = Times(layers.back(), Values(in, in + kScores));
    for (double& v : y) v *= 1.01;
    subject.blobs[layers.back().outputs[0]] = AsTensor(y);
  }
  Graph graph = GraphOf(std::move(layers), {1, kScores});
  graph.inputs[0].name = "b0";
  const RunReport run = CheckSubjectBlobs(graph, subject, {{"b0", x}}, {}).value();
  ASSERT_EQ(run.Count(Verdict::kWrong), 6);
  const OutputEffect& effect = run.outputs[0].effect;
  EXPECT_EQ(effect.layers.size(), 4u);
  EXPECT_EQ(effect.others_wrong, 2);
  EXPECT_NEAR(effect.others, 2 / 6.0, 0.02);
  EXPECT_NE(EffectSentences(run, run.outputs[0])[0].find("everything else (2 more layers are wrong) 3"),
            std::string::npos);
}

}  // namespace
}  // namespace plumb
