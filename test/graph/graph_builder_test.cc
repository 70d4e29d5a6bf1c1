// SPDX-License-Identifier: Apache-2.0
#include "plumb/graph.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "op/convolution.h"
#include "op/core/named_params.h"
#include "op/core/op.h"
#include "plumb/tool/support.h"

namespace plumb {
namespace {

GraphBuilder SmallNetwork() {
  GraphBuilder builder("small");
  builder.Input("image", {1, 3, 8, 6});
  builder.Add("Convolution", {"image"}, {"features"}, "out_channels=4 kernel=3x1 stride=2 pad=1x0 bias");
  builder.Add("ReLU", {"features"}, {"positive"});
  builder.Output("positive");
  return builder;
}

TEST(GraphBuilder, BuildsACheckedGraphWithGeneratedWeights) {
  const Result<Graph> graph = SmallNetwork().Build(7);
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  EXPECT_EQ(InferShapes(*graph).value().at("positive").shape, (Shape{1, 4, 4, 3}));
  const Layer& convolution = graph->layers[0];
  EXPECT_EQ(convolution.index, 0);
  EXPECT_EQ(convolution.name, "features");
  EXPECT_EQ(convolution.Resource("weight")->shape(), (Shape{4, 3, 3, 1}));
  EXPECT_NE(convolution.Resource("bias"), nullptr);
  EXPECT_TRUE(graph->weights_generated);
  EXPECT_EQ(graph->weight_seed, 7u);
}

TEST(GraphBuilder, TakesWeightsAndConstants) {
  const Tensor scale = Tensor::Zeros(DType::kF32, {3}).value();
  GraphBuilder builder;
  builder.Input("x", {2, 3}).Constant("c", Tensor::Zeros(DType::kF32, {2, 3}).value());
  builder.Add("BiasAdd", {"x"}, {"y"}, "", {{"bias", scale}}).Add("Add", {"y", "c"}, {"z"}).Output("z");
  const Result<Graph> graph = builder.Build();
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  EXPECT_FALSE(graph->weights_generated);
  EXPECT_EQ(graph->layers[0].Resource("bias")->raw(), scale.raw());
}

std::string WhyNot(const GraphBuilder& builder) { return builder.Build().status().ToString(); }

TEST(GraphBuilder, NamesTheFirstMistake) {
  EXPECT_EQ(WhyNot(GraphBuilder("g").Input("x", {1}).Add("Relu6", {"x"}, {"y"}).Output("y")),
            "InvalidArgument: model 'g': layer 0 'y' (Relu6): no operator is called 'Relu6'; did you mean 'ReLU6'?; "
            "doc/op_support.md lists all");
  EXPECT_EQ(WhyNot(GraphBuilder("g").Input("x", {1}).Add("LeakyRelu", {"x"}, {"y"}, "alpha=0.1").Output("y")),
            "InvalidArgument: model 'g': layer 0 'y' (LeakyRelu): no parameter is called 'alpha'; there are slope");
  EXPECT_NE(WhyNot(GraphBuilder("g").Input("x", {1}).Add("ReLU", {"w"}, {"y"}).Output("y")).find("reads blob 'w'"),
            std::string::npos);
  const Tensor two = Tensor::Zeros(DType::kF32, {2}).value();
  EXPECT_NE(WhyNot(GraphBuilder("g").Input("x", {2, 3}).Add("BiasAdd", {"x"}, {"y"}, "", {{"bias", two}}).Output("y"))
                .find("bias expects 3 elements"),
            std::string::npos);
}

TEST(SetParams, ReadsWhatListParamsPrintsOfEveryOperator) {
  for (const OpDef& op : AllOps()) {
    Layer layer;
    layer.kind = op.kind;
    layer.param = op.make_param();
    const auto before = ListParams(layer);
    std::string text;
    for (const auto& [name, value] : before) {
      if (value.find(' ') == std::string::npos) text += name + "=" + value + " ";
    }
    const Status status = SetParams(text, &layer);
    EXPECT_TRUE(status.ok()) << op.name << ": " << status.ToString();
    for (const auto& [name, value] : ListParams(layer)) {
      const auto same = std::find(before.begin(), before.end(), std::make_pair(name, value));
      EXPECT_TRUE(same != before.end()) << op.name << ": " << name << " became " << value;
    }
  }
}

std::string WhyNotSet(OpKind kind, const std::string& text) {
  Layer layer;
  layer.kind = kind;
  layer.param = GetOp(kind).make_param();
  const Status status = SetParams(text, &layer);
  return status.ok() ? "" : status.message();
}

TEST(SetParams, NamesWhatDoesNotFit) {
  EXPECT_EQ(WhyNotSet(OpKind::kConvolution, "stride=2 kernel=3x5 bias"), "");
  EXPECT_EQ(WhyNotSet(OpKind::kConvolution, "stride=two"), "parameter 'stride_h' expects an integer, found 'two'");
  EXPECT_EQ(WhyNotSet(OpKind::kConvolution, "stride=3x"), "parameter 'stride_w' expects an integer, found ''");
  EXPECT_EQ(WhyNotSet(OpKind::kConvolution, "bias=2"), "parameter 'bias' expects 0 or 1, found '2'");
  EXPECT_EQ(WhyNotSet(OpKind::kConvolution, "group=1 group=2"), "parameter 'group' is given twice");
  EXPECT_EQ(WhyNotSet(OpKind::kPermute, "orders=0,1"), "parameter 'orders' expects integers as [1,2], found '0,1'");
  EXPECT_NE(WhyNotSet(OpKind::kConvolution, "strid_h=2").find("did you mean 'stride_h'?"), std::string::npos);
  EXPECT_NE(WhyNotSet(OpKind::kReLU, "slope=1").find("the operator has none"), std::string::npos);
}

TEST(SetParams, ChangesNothingWhenItFails) {
  Layer layer;
  layer.kind = OpKind::kConvolution;
  layer.param = std::make_shared<ConvolutionParam>();
  EXPECT_FALSE(SetParams("kernel=3 stride=x", &layer).ok());
  EXPECT_EQ(ParamOf<ConvolutionParam>(layer).kernel_h, 0);
}

}  // namespace
}  // namespace plumb
