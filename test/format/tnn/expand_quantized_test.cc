// SPDX-License-Identifier: Apache-2.0
// TNN's quantised layers as DequantizeLinear, the operator of floats and QuantizeLinear.
#include "format/tnn/expand_quantized.h"

#include <algorithm>
#include <functional>

#include "format/tnn/tnn_test_util.h"
#include "op/core/op.h"
#include "plumb/plumb.h"

namespace plumb::tnn {
namespace {

template <class T>
Tensor TensorOf(DType dtype, const std::vector<T>& values, const std::vector<int64_t>& dims = {}) {
  Tensor tensor =
      Tensor::Create(dtype, dims.empty() ? Shape{static_cast<int64_t>(values.size())} : Shape(dims)).value();
  std::copy(values.begin(), values.end(), tensor.data<T>());
  return tensor;
}

BlobScale ScaleOf(const std::vector<float>& scale, const std::vector<int8_t>& zero = {}) {
  return {TensorOf<float>(DType::kF32, scale), zero.empty() ? Tensor() : TensorOf<int8_t>(DType::kI8, zero), {}};
}

constexpr char kOneByOne[] = "QuantizedConvolution c 1 1 x y 1 2 2 1 1 1 1 0 0 1 -1 1 1 1";  // with a ReLU

// Two channels to two.
Graph ConvolutionOfInt8(const std::string& line = kOneByOne) {
  Graph graph = ParseOrDie(ProtoText(line, "x 4 1 2 1 2 0"));
  graph.layers[0].resources = {{"weight", TensorOf<int8_t>(DType::kI8, {10, -20, 30, 40}, {2, 2, 1, 1})},
                               {"weight_zero_point", TensorOf<int8_t>(DType::kI8, {0, 0})},
                               {"weight_scale", TensorOf<float>(DType::kF32, {0.125F, 0.25F})},
                               {"bias", TensorOf<int32_t>(DType::kI32, {7, -8})}};
  graph.blob_scales = {{"x", ScaleOf({0.5F}, {3})}, {"y", ScaleOf({2.0F})}};
  return graph;
}

Status Expand(Graph* graph, ImportRecord* record = nullptr) {
  PLUMB_ASSIGN_OR_RETURN(const BlobTable blobs, InferShapes(*graph));
  PLUMB_RETURN_IF_ERROR(CheckResources(blobs, graph));
  return ExpandQuantized(blobs, record, graph);
}

// What NAIVE makes of one f32 input.
std::vector<float> RunOn(const Graph& graph, const std::vector<float>& values) {
  auto network = CreateNetwork(Graph(graph), "NAIVE");
  EXPECT_TRUE(network.ok()) << network.status().ToString();
  if (!network.ok()) return {};
  EXPECT_TRUE((*network)->SetInput("x", TensorOf(DType::kF32, values, graph.inputs[0].shape.dims())).ok());
  EXPECT_TRUE((*network)->Forward().ok());
  const Tensor y = (*network)->GetOutput(graph.outputs[0]).value();
  return {y.data<float>(), y.data<float>() + y.NumElements()};
}

TEST(ExpandQuantized, ComputesWhatTnnDoes) {
  Graph graph = ConvolutionOfInt8();
  ImportRecord record;
  const Status status = Expand(&graph, &record);
  ASSERT_TRUE(status.ok()) << status.ToString();
  std::vector<std::string> layers;
  for (const Layer& layer : graph.layers) {
    EXPECT_EQ(layer.index, static_cast<int>(layers.size()));
    EXPECT_FALSE(layer.quantized);
    layers.push_back(layer.type + " " + layer.outputs[0]);
  }
  EXPECT_EQ(layers,
            (std::vector<std::string>{"PlumbQuantizeLinear x_int8", "PlumbDequantizeLinear x_dequantized",
                                      "Convolution y_real", "PlumbQuantizeLinear y_int8", "PlumbDequantizeLinear y"}));
  EXPECT_EQ(graph.layers[0].nodes, std::vector<std::string>{"c"});
  EXPECT_EQ(graph.model_dtypes.at("y_int8"), DType::kI8);
  // x: (1, -2) and (60, 100), which saturates: q - 3 is (2, -4) and (120, 124). Channel 0 of the first pixel:
  // (2 * 10 - 120 * 20 + 7) / 8 is below 0; channel 1: (2 * 30 + 120 * 40 - 8) / 4 = 1213 of 2 each is beyond 127.
  // The second pixel: (-40 - 2480 + 7) / 8 is below 0, and (-120 + 4960 - 8) / 4 = 1208, too.
  EXPECT_EQ(RunOn(graph, {1, -2, 60, 100}), (std::vector<float>{0, 0, 254, 254}));
  // q - 3 is (40, -10) and (-2, -9): (400 + 40 + 7) / 8 = 55.875 -> 56; (1200 - 80 - 8) / 4 = 278 -> 254;
  // (-100 + 180 + 7) / 8 = 10.875 -> 10; (-300 - 360 - 8) / 4 is below 0.
  EXPECT_EQ(RunOn(graph, {20, -5, -1, -4.5F}), (std::vector<float>{56, 10, 254, 0}));
  ASSERT_EQ(record.folded.layers.size(), 2U);  // weights and bias
  EXPECT_EQ(record.folded.constants.at("c/weight").raw(), graph.layers[2].Resource("weight")->raw());
  EXPECT_EQ(record.folded.constants.at("c/weight_scale").data<float>()[1], 0.5F);
  EXPECT_EQ(record.product_scales.at("c/weight").data<float>()[1], 0.25F);  // as the file has it
}

TEST(ExpandQuantized, TakesScalesOfEachChannel) {
  Graph graph = ConvolutionOfInt8();
  graph.blob_scales["x"] = ScaleOf({0.5F, 0.25F});
  graph.blob_scales["y"] = ScaleOf({1, 4});
  ASSERT_TRUE(Expand(&graph).ok());
  const float* weight = graph.layers[2].Resource("weight")->data<float>();
  EXPECT_EQ(weight[0], 10 * 0.125F / 0.5F);
  EXPECT_EQ(weight[1], -20 * 0.125F / 0.25F);
  EXPECT_EQ(weight[3], 40 * 0.25F / 0.25F);
  // Integers (4, 2) and (8, 8): (40 - 160 + 7) / 8 < 0, (20 - 160 + 7) / 8 < 0; (120 + 320 - 8) / 4 = 108,
  // (60 + 320 - 8) / 4 = 93, which is 23.25 of 4 each.
  EXPECT_EQ(RunOn(graph, {2, 1, 2, 2}), (std::vector<float>{0, 0, 108, 92}));
}

TEST(ExpandQuantized, FloatsAndIntegersReadTheirOwn) {
  Graph graph = ParseOrDie(ProtoText("Abs a 1 1 x m\nQuantizedReLU r 1 1 m n\nAdd s 2 1 m n y 0"));
  graph.blob_scales = {{"m", ScaleOf({1})}, {"n", ScaleOf({1})}};
  ASSERT_TRUE(Expand(&graph).ok());
  const std::vector<float> y = RunOn(graph, std::vector<float>(18, -1.25F));
  EXPECT_EQ(y[0], 1.25F + 1);  // Add reads the float itself, and what the integer 1 stands for
}

TEST(ExpandQuantized, SaysWhichScaleIsMissingOrWrong) {
  const auto refused = [](const std::function<void(Graph*)>& spoil) {
    Graph graph = ConvolutionOfInt8();
    spoil(&graph);
    const Status status = Expand(&graph);
    EXPECT_EQ(status.code(), StatusCode::kCorruptModel) << status.ToString();
    return status.message();
  };
  const auto has = [](const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  };
  std::string text = refused([](Graph* graph) { graph->blob_scales.erase("y"); });
  EXPECT_TRUE(has(text, "layer 0 'c' (Convolution)") && has(text, "blob 'y' has no BlobScale record")) << text;
  text = refused([](Graph* graph) { graph->blob_scales["y"] = ScaleOf({0}); });
  EXPECT_TRUE(has(text, "scale 0 of blob 'y' is 0, expected more than 0")) << text;
  text = refused([](Graph* graph) { graph->blob_scales["x"] = ScaleOf({1, 2, 3}); });
  EXPECT_TRUE(has(text, "blob 'x' [1,2,1,2] has 3 scales")) << text;
  text = refused([](Graph* graph) {
    graph->layers[0].resources["weight_scale"] = TensorOf<float>(DType::kF32, {1, 2, 3});
  });
  EXPECT_TRUE(has(text, "weight [2,2,1,1] has 3 scales, expected 1 or 2")) << text;
}

// Kernels of floats would read integers of another width as they lie.
TEST(ExpandQuantized, RefusesIntegersWithoutAMeaning) {
  const auto refused = [](Graph graph, const char* slot, const Tensor& integers) {
    graph.layers[0].resources[slot] = integers;
    const Status status = Expand(&graph);
    EXPECT_EQ(status.code(), StatusCode::kCorruptModel) << slot << ": " << status.ToString();
    return status.message();
  };
  const std::string bias = refused(ConvolutionOfInt8(), "bias", TensorOf<int8_t>(DType::kI8, {7, -8}));
  EXPECT_NE(bias.find("layer 0 'c' (Convolution): bias expects f32"), std::string::npos) << bias;
  refused(ConvolutionOfInt8(), "weight", TensorOf<int32_t>(DType::kI32, {1, 2, 3, 4}, {2, 2, 1, 1}));
  Graph floats = ConvolutionOfInt8();
  floats.layers[0].resources["weight"] = TensorOf<float>(DType::kF32, {1, 2, 3, 4}, {2, 2, 1, 1});
  refused(floats, "bias", TensorOf<int32_t>(DType::kI32, {7, -8}));  // in units of what?
  Graph dynamic = ConvolutionOfInt8("DynamicRangeQuantizedConvolution c 1 1 x y 1 2 2 1 1 1 1 0 0 1 -1 1 1 0");
  refused(dynamic, "bias", TensorOf<int8_t>(DType::kI8, {7, -8}));
}

TEST(ExpandQuantized, WeightsOfADynamicRangeAreFloats) {
  Graph graph = ConvolutionOfInt8("DynamicRangeQuantizedConvolution c 1 1 x y 1 2 2 1 1 1 1 0 0 1 -1 1 1 0");
  graph.layers[0].resources["bias"] = TensorOf<float>(DType::kF32, {1, 2});
  graph.blob_scales.clear();
  graph.constants["table"] = TensorOf<int8_t>(DType::kI8, {2, -4});
  graph.constants["table_dynamic_range_quant_scale"] = TensorOf<float>(DType::kF32, {0.5F});
  ASSERT_TRUE(Expand(&graph).ok());
  ASSERT_EQ(graph.layers.size(), 1U);
  EXPECT_FALSE(graph.layers[0].dynamic_range_quantized);
  EXPECT_EQ(graph.layers[0].Resource("weight")->data<float>()[3], 10);
  ASSERT_EQ(graph.constants.size(), 1U);
  EXPECT_EQ(graph.constants.at("table").data<float>()[1], -2);
}

// Generated weights are of int8, too, and what is written is what was generated.
TEST(ExpandQuantized, GeneratedNetworksAreWrittenAsTnnHasThem) {
  const std::string folder = ::testing::TempDir() + "plumb_expand_quantized";
  LoadOptions keep;
  keep.keep_quantized = true;
  const auto kept = LoadModel(PLUMB_TEST_DATA "/networks/quant_mobilenet_v1.tnnproto", keep);
  ASSERT_TRUE(kept.ok()) << kept.status().ToString();
  const Tensor& weight = *kept->layers[0].Resource("weight");
  EXPECT_EQ(weight.dtype(), DType::kI8);
  const auto [least, most] = std::minmax_element(weight.data<int8_t>(), weight.data<int8_t>() + 27);
  EXPECT_EQ(std::max(-*least, +*most), 127);  // each filter has the whole range
  ASSERT_TRUE(SaveModel(*kept, folder).ok());
  const auto back = LoadModel(folder + ".tnnproto", keep), expanded = LoadModel(folder + ".tnnproto");
  ASSERT_TRUE(back.ok() && expanded.ok()) << back.status().ToString() << expanded.status().ToString();
  ASSERT_EQ(back->layers.size(), kept->layers.size());
  for (size_t i = 0; i < back->layers.size(); ++i) {
    EXPECT_TRUE(back->layers[i].quantized == kept->layers[i].quantized);
    EXPECT_TRUE(SameResources(back->layers[i].resources, kept->layers[i].resources)) << kept->layers[i].name;
  }
  EXPECT_EQ(back->blob_scales.size(), kept->blob_scales.size());
  EXPECT_EQ(expanded->layers.size(), 3 * 29 + 2 + 1U);  // of the input two more, and the softmax
  EXPECT_FALSE(CreateNetwork(Graph(*back), "NAIVE").ok());
}

}  // namespace
}  // namespace plumb::tnn
