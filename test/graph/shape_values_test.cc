// SPDX-License-Identifier: Apache-2.0
// Shape arithmetic is evaluated while shapes are inferred, and a network leaves those layers to the host on every
// device.
#include <gtest/gtest.h>

#include <algorithm>

#include "op/concat.h"
#include "op/gather.h"
#include "op/squeeze.h"
#include "plumb/plumb.h"
#include "util/make_layer.h"

namespace plumb {
namespace {

Tensor Ints(Shape shape, std::vector<int32_t> values) {
  Tensor t = Tensor::Create(DType::kI32, shape).value();
  std::copy(values.begin(), values.end(), t.data<int32_t>());
  return t;
}

// What an exporter writes for x.view(x.size(0) * 2, -1): Shape, Gather, Mul, Unsqueeze, Concat, Reshape.
std::shared_ptr<Graph> ViewGraph() {
  auto graph = std::make_shared<Graph>();
  graph->source = "view";
  graph->inputs = {{"x", DType::kF32, {2, 3, 4, 5}}};
  graph->outputs = {"y"};
  graph->constants = {{"zero", Ints({}, {0})}, {"two", Ints({}, {2})}, {"rest", Ints({1}, {-1})}};
  graph->layers = {MakeLayer(OpKind::kShape, "shape", {"x"}, {"dims"}),
                   MakeLayer(OpKind::kGather, "pick", {"dims", "zero"}, {"batch"}),
                   MakeLayer(OpKind::kMul, "twice", {"batch", "two"}, {"rows"}),
                   MakeLayer(OpKind::kUnsqueeze, "vector", {"rows"}, {"rows_1"}),
                   MakeLayer(OpKind::kConcat, "join", {"rows_1", "rest"}, {"wanted"}),
                   MakeLayer(OpKind::kReshape, "view", {"x", "wanted"}, {"y"})};
  auto gather = std::make_shared<GatherParam>();
  gather->indices_in_resource = false;
  graph->layers[1].param = gather;
  auto unsqueeze = std::make_shared<SqueezeParam>();
  unsqueeze->axes = {0};
  graph->layers[3].param = unsqueeze;
  auto concat = std::make_shared<ConcatParam>();
  concat->axis = 0;
  graph->layers[4].param = concat;
  for (size_t i = 0; i < graph->layers.size(); ++i) graph->layers[i].index = static_cast<int>(i);
  return graph;
}

TEST(ShapeValues, FollowTheInputShape) {
  const auto graph = ViewGraph();
  EXPECT_EQ(InferShapes(*graph).value().at("y").shape.ToString(), "[4,30]");
  EXPECT_EQ(InferShapes(*graph, {{"x", {5, 3, 4, 5}}}).value().at("y").shape.ToString(), "[10,30]");
}

TEST(ShapeValues, AreNoLayersOfADevice) {
  for (const DeviceInfo& device : ListDevices()) {
    if (!device.present) continue;
    auto network = CreateNetwork(ViewGraph(), device.name, {});
    ASSERT_TRUE(network.ok()) << device.name << ": " << network.status().ToString();
    Tensor x = Tensor::Create(DType::kF32, {2, 3, 4, 5}).value();
    for (int i = 0; i < 120; ++i) x.data<float>()[i] = static_cast<float>(i);
    ASSERT_TRUE((*network)->SetInput("x", x).ok());
    ASSERT_TRUE((*network)->Forward().ok());
    const Tensor y = (*network)->GetOutput("y").value();
    EXPECT_EQ(y.shape().ToString(), "[4,30]") << device.name;
    for (int i = 0; i < 120; ++i) EXPECT_EQ(y.data<float>()[i], static_cast<float>(i)) << device.name;
  }
}

}  // namespace
}  // namespace plumb
