// SPDX-License-Identifier: Apache-2.0
// Network inputs that are drawn to exercise the weakest layers (InputOptions::exercise, model_check --probe).
#include "op/activation.h"
#include "session/session_test_util.h"
#include "util/make_layer.h"

namespace plumb {
namespace {

Layer Clipped(const std::string& name, const std::string& from, float low, float high) {
  Layer layer = MakeLayer(OpKind::kClip, name, {from}, {name});
  auto param = std::make_shared<ClipParam>();
  param->min = low, param->max = high;
  layer.param = param;
  return layer;
}

// Two limits of x side by side: 'far' moves between 20 and 60, 'near' between -0.5 and 0.5.
Graph TwoLimits() {
  Graph graph;
  graph.inputs = {{"x", DType::kF32, {1, 3, 8, 8}}};
  graph.outputs = {"far", "near"};
  graph.layers = {Clipped("far", "x", 20, 60), Clipped("near", "x", -0.5f, 0.5f)};
  for (int i = 0; i < 2; ++i) graph.layers[static_cast<size_t>(i)].index = i;
  return graph;
}

int Between(const Tensor& x, double low, double high) {
  int count = 0;
  for (int64_t i = 0; i < x.NumElements(); ++i) count += x.ValueAt(i) > low && x.ValueAt(i) < high;
  return count;
}

class ExerciseTest : public ScratchFolder {};

TEST_F(ExerciseTest, WhatThePlainInputsNeverReachIsReached) {
  InputOptions options;
  options.exercise = true;
  options.exercised_layers = {"far"};
  const NetworkInputs drawn = PrepareInputs(options, TwoLimits()).value();
  EXPECT_GE(Between(drawn.values.at("x"), 20, 60), 48) << drawn.lines[0];
  ASSERT_EQ(drawn.lines.size(), 2u);
  EXPECT_TRUE(Has(drawn.lines[0], "x f32 [1,3,8,8]: generated, uniform")) << drawn.lines[0];
  EXPECT_TRUE(Has(drawn.lines[0], ", times ")) << drawn.lines[0];
  EXPECT_TRUE(Has(drawn.lines[1], "with the plain inputs 'far' is exercised least, all of its values are the same"))
      << drawn.lines[1];
  const NetworkInputs again = PrepareInputs(options, TwoLimits()).value();
  EXPECT_EQ(again.lines, drawn.lines) << "the same inputs every time";
}

TEST_F(ExerciseTest, AllLayersCountWhereNoneIsNamed) {
  InputOptions options;
  options.exercise = true;
  const Tensor x = PrepareInputs(options, TwoLimits()).value().values.at("x");
  EXPECT_GT(Between(x, 20, 60), 0);
  EXPECT_GT(Between(x, -0.5, 0.5), 0);
  options.exercised_layers = {"near"};
  const NetworkInputs plain = PrepareInputs(options, TwoLimits()).value();
  EXPECT_EQ(Between(plain.values.at("x"), -1, 1), 192) << "as they are generated without";
  EXPECT_TRUE(Has(plain.lines[1], "all layers are exercised")) << plain.lines[1];
}

TEST_F(ExerciseTest, GivenInputsAreNotDrawn) {
  InputOptions options;
  options.exercise = true;
  options.values["x"] = Tensor::Zeros(DType::kF32, {1, 3, 8, 8}).value();
  const auto refused = PrepareInputs(options, TwoLimits());
  ASSERT_FALSE(refused.ok());
  EXPECT_TRUE(Has(refused.status().message(), "InputOptions::exercise")) << refused.status().message();
}

}  // namespace
}  // namespace plumb
