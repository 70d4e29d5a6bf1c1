// SPDX-License-Identifier: Apache-2.0
// What a subject's tensors are that ran another file of the network, in another format.
#include "check/subject/other_format.h"

#include <gtest/gtest.h>

#include "plumb/model.h"

namespace plumb {
namespace {

TEST(OtherFormat, FollowsFromTheSuffixes) {
  EXPECT_TRUE(AreOfDifferentFormats("a/net.onnx", "b/net.tflite"));
  EXPECT_FALSE(AreOfDifferentFormats("a/net.onnx", "b/other.onnx"));
  EXPECT_FALSE(AreOfDifferentFormats("a/net.onnx", ""));
  EXPECT_FALSE(AreOfDifferentFormats("graph in memory", "b/net.tflite"));
}

TEST(OtherFormat, AxesAreTurnedWhereOneOrderFits) {
  EXPECT_EQ(OnlyTurn({1, 72, 172, 2}, {1, 172, 72, 2}), (std::vector<int>{0, 2, 1, 3}));
  EXPECT_EQ(OnlyTurn({1, 1, 3, 4}, {4, 1, 1, 3}), (std::vector<int>{3, 0, 1, 2}));  // which of the ones does not matter
  EXPECT_FALSE(OnlyTurn({1, 5, 5, 2}, {2, 5, 5, 1}).has_value());                   // two orders of the fives
  EXPECT_FALSE(OnlyTurn({2, 3}, {2, 3}).has_value());
  EXPECT_FALSE(OnlyTurn({2, 3}, {3, 4}).has_value());
  EXPECT_FALSE(OnlyTurn({2, 3}, {3, 2, 1}).has_value());
}

TEST(OtherFormat, WhatNoActivationGivesIsItsInput) {
  GraphBuilder builder;
  builder.Input("x", {1, 2}).Add("Sigmoid", {"x"}, {"a"}).Add("ReLU6", {"a"}, {"b"}).Add("Sigmoid", {"b"}, {"c"});
  const Graph graph = builder.Output("c").Build().value();
  const BeforeActivations before(graph);
  Tensor value = Tensor::Zeros(DType::kF32, {1, 2}).value();
  value.data<float>()[0] = 6;
  EXPECT_EQ(before.InputOf("b", value), "");
  value.data<float>()[1] = -0.5F;
  EXPECT_EQ(before.InputOf("b", value), "a");
  EXPECT_EQ(before.InputOf("c", value), "");
  value.data<float>()[1] = 6.5F;
  EXPECT_EQ(before.InputOf("b", value), "a");
}

}  // namespace
}  // namespace plumb
