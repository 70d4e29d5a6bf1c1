// SPDX-License-Identifier: Apache-2.0
// Network inputs out of files, out of memory and generated: what is taken, what is said of it, and what is refused.
#include "plumb/inputs.h"

#include <cstring>

#include "session/session_test_util.h"
#include "util/make_layer.h"

namespace plumb {
namespace {

const std::string kDigits = PLUMB_EXAMPLES "/digits/digits.tnnproto";

// y = x + z, both [1,1,2,3].
constexpr const char* kSum =
    "\"1 3 1 4206624772 ,\"\n\"x 4 1 1 2 3 0 :z 4 1 1 2 3 0 ,\"\n\" x y z ,\"\n\"y ,\"\n\" 1 ,\"\n\"Add sum 2 1 x z y "
    ",\"\n";

class InputsTest : public ScratchFolder {
 protected:
  Graph Sum() { return LoadModel(WriteText("sum.tnnproto", kSum)).value(); }
  // The sentence with which these options are refused.
  std::string Refused(const InputOptions& options, const Graph& graph) {
    const auto inputs = PrepareInputs(options, graph);
    EXPECT_FALSE(inputs.ok());
    const std::string message = inputs.status().message();
    EXPECT_EQ(message.find(" -"), std::string::npos) << "no option of a tool: " << message;
    EXPECT_NE(message.rfind("-", 0), 0u) << message;
    return message;
  }
  const Tensor six_ = Values({1, 2, 3, 4, 5, 6}, {1, 1, 2, 3});
};

TEST_F(InputsTest, GeneratedOnesAreTheSameEveryTimeAndSaySo) {
  const Graph graph = LoadModel(kDigits).value();
  InputOptions options;
  options.seed = 7;
  const NetworkInputs one = PrepareInputs(options, graph).value(), two = PrepareInputs(options, graph).value();
  EXPECT_TRUE(one.generated);
  ASSERT_EQ(one.lines.size(), 1u);
  EXPECT_EQ(one.lines[0].rfind("input f32 [1,1,8,8]: generated", 0), 0u) << one.lines[0];
  EXPECT_TRUE(Has(one.lines[0], "seed 7")) << one.lines[0];
  EXPECT_EQ(0, std::memcmp(one.values.at("input").raw(), two.values.at("input").raw(), one.values.at("input").bytes()));
  options.range = {{2, 3}};
  const NetworkInputs ranged = PrepareInputs(options, graph).value();
  for (int i = 0; i < 64; ++i)
    EXPECT_TRUE(ranged.values.at("input").ValueAt(i) >= 2 && ranged.values.at("input").ValueAt(i) < 3);
  options.range = {{3, 2}};
  EXPECT_TRUE(Has(Refused(options, graph), "InputOptions::range: expected LO,HI with LO <= HI"));
}

TEST_F(InputsTest, WhatIsDrawnFromIsKnownBefore) {
  const Graph graph = Sum();
  const auto ranges = GeneratedRanges(graph, InferShapes(graph).value());
  ASSERT_EQ(ranges.size(), 2u);
  EXPECT_EQ(ranges.at("x").lo, -1);
  EXPECT_EQ(ranges.at("x").hi, 1);
  EXPECT_FALSE(ranges.at("x").needed || ranges.at("x").whole);
}

TEST_F(InputsTest, FilesAndValuesMayBeMixed) {
  InputOptions options;
  options.values["z"] = six_.ConvertedTo(DType::kF64).value();
  options.files = {"x=" + At("x.npy")};
  ASSERT_TRUE(WriteTensors(At("x.npy"), {{"", six_}}).ok());
  const NetworkInputs inputs = PrepareInputs(options, Sum()).value();
  EXPECT_FALSE(inputs.generated);
  EXPECT_EQ(inputs.values.at("z").dtype(), DType::kF32);
  EXPECT_EQ(inputs.lines, (std::vector<std::string>{"x f32 [1,1,2,3]: " + At("x.npy"),
                                                    "z f32 [1,1,2,3]: given, converted from f64"}));
  auto network = CreateNetwork(Sum(), "NAIVE").value();
  EXPECT_EQ(RunNetwork(network.get(), inputs.values).value().at("y").ValueAt(5), 12);
  EXPECT_EQ(ShapesOfFiles(options.files).at("x"), six_.shape());
}

// Integers of scale 0.5 around 3: floats are rounded to an even half and limited.
Graph Dequantised(bool with_scale) {
  Graph graph;
  graph.inputs = {{"q", DType::kI64, Shape{1, 6}}};
  graph.outputs = {"y"};
  graph.model_dtypes["q"] = DType::kI8;
  Tensor scale = Tensor::Zeros(DType::kF32, Shape{}).value(), zero = Tensor::Zeros(DType::kI64, Shape{}).value();
  scale.data<float>()[0] = 0.5f, zero.data<int64_t>()[0] = 3;
  graph.constants = {{"scale", scale}, {"zero", zero}};
  if (with_scale) {
    graph.layers = {MakeLayer(OpKind::kPlumbDequantizeLinear, "d", {"q", "scale", "zero"}, {"y"})};
  } else {
    graph.layers = {MakeLayer(OpKind::kAbs, "a", {"q"}, {"y"})};
  }
  return graph;
}

TEST_F(InputsTest, FloatsBecomeIntegersByTheInputsScale) {
  InputOptions options;
  options.values["q"] = Values({1, 1.25f, -1.25f, 100, -100, 0}, {1, 6});
  const NetworkInputs inputs = PrepareInputs(options, Dequantised(true)).value();
  EXPECT_TRUE(Has(inputs.lines[0], "f32 quantised by the input's scale 0.5 and zero point 3")) << inputs.lines[0];
  std::vector<double> found;
  for (int i = 0; i < 6; ++i) found.push_back(inputs.values.at("q").ValueAt(i));
  EXPECT_EQ(found, (std::vector<double>{5, 5, 1, 127, -128, 3}));
  EXPECT_TRUE(Has(Refused(options, Dequantised(false)), "the model says no scale that would make integers of them"));
}

// The model's own order is NCHW; a .tflite file's is NHWC.
TEST_F(InputsTest, TheLayoutOfGivenTensorsMayBeSaid) {
  InputOptions options;
  options.layout = "NHWC";
  options.values = {{"x", Values({1, 2, 3, 4, 5, 6}, {1, 2, 3, 1})}, {"z", Values({1, 2, 3, 4, 5, 6}, {1, 2, 3, 1})}};
  const NetworkInputs inputs = PrepareInputs(options, Sum()).value();
  EXPECT_EQ(inputs.values.at("x").shape(), (Shape{1, 1, 2, 3}));
  EXPECT_TRUE(Has(inputs.lines[0], "turned from NHWC to NCHW")) << inputs.lines[0];
  const Tensor image = Values({1, 2, 3, 4, 5, 6}, {1, 2, 1, 3});
  const Tensor last = InLayout(Sum(), image, "NHWC").value();
  EXPECT_EQ(last.shape(), (Shape{1, 1, 3, 2}));
  EXPECT_EQ(last.ValueAt(1), 4);
  EXPECT_EQ(InLayout(Sum(), image, "").value().shape(), image.shape());
  EXPECT_FALSE(InLayout(Sum(), image, "HWC").ok());
}

TEST_F(InputsTest, ARefusalNamesBothSides) {
  const Graph graph = Sum();
  InputOptions options;
  options.values = {{"x", six_}};
  EXPECT_EQ(Refused(options, graph), "network input 'z' is not among InputOptions::values");
  options.values = {{"xx", six_}};
  EXPECT_EQ(Refused(options, graph),
            "InputOptions::values: there is no network input 'xx', the network inputs are 'x', 'z'");
  options.values = {{"x", Values({1, 2})}, {"z", six_}};
  EXPECT_EQ(Refused(options, graph),
            "given: network input 'x' expects shape [1,1,2,3], found [2]; the model's has 4 dims, "
            "this one 1");
  options.values = {{"x", six_.ConvertedTo(DType::kI32).value()}, {"z", six_}};
  EXPECT_EQ(Refused(options, graph), "given: network input 'x' expects f32, found i32");
  options.values.clear();
  options.files = {WriteNpz("other.npz", {{"q", six_}, {"r", six_}})};
  EXPECT_TRUE(Has(Refused(options, graph),
                  "holds no tensor for the network inputs 'x', 'z'; say which with InputOptions::files"));
  options.files = {WriteNpz("x.npz", {{"x", six_}})};
  EXPECT_EQ(Refused(options, graph), "network input 'z' is in none of the files given with InputOptions::files");
  options.values = {{"x", six_}};
  EXPECT_EQ(Refused(options, graph), "network input 'x' is given twice");
}

}  // namespace
}  // namespace plumb
