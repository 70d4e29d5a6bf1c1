// SPDX-License-Identifier: Apache-2.0
// Nodes that were imported as several layers although one operator says what they are: another runtime's own order of a
// sum and its own choice among equal elements are no faults; a fault is.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "format/onnx/node_verdict.h"
#include "format/onnx/onnx_model.h"

namespace plumb {
namespace {

using Values = std::map<std::string, Tensor>;

Tensor Floats(const Shape& shape, const std::function<float(int64_t)>& f) {
  Tensor tensor = Tensor::Create(DType::kF32, shape).value();
  for (int64_t i = 0; i < tensor.NumElements(); ++i) tensor.data<float>()[i] = f(i);
  return tensor;
}

float Noise(int64_t i) {
  const uint64_t bits = static_cast<uint64_t>(i + 1) * 6364136223846793005u;
  return static_cast<float>(static_cast<int64_t>(bits >> 44) - (1 << 19)) / (1 << 18);
}

LayerReport Judged(const OnnxModel& m, const Values& blobs) {
  ImportRecord record;
  LoadOptions load;
  load.record = &record;
  const auto graph = m.Import(load);
  EXPECT_TRUE(graph.ok()) << graph.status().ToString();
  const auto run = JudgeSubject(*graph, record, Stored(blobs), {{"x", blobs.at("x")}});
  EXPECT_TRUE(run.ok()) << run.status().ToString();
  EXPECT_EQ(run->layers.size(), 1u);
  return run->layers.at(0);
}

OnnxModel CumSum(int64_t n) {
  OnnxModel m;
  m.Input("x", {1, n}).Output("y");
  m.Ints("axis", {}, {1});
  m.Node("CumSum", {"x", "axis"}, {"y"}, "sum");
  return m;
}

// One after the other in f32, as ONNX Runtime adds.
Tensor Serial(const Tensor& x, int64_t left_out = -1) {
  float sum = 0;
  return Floats(x.shape(), [&](int64_t i) { return sum += i == left_out ? 0 : x.data<float>()[i]; });
}

TEST(WholeNode, ASerialSumIsAlignedAndALostTermIsNot) {
  for (const int64_t n : {8, 1000, 65536}) {
    const Tensor x = Floats({1, n}, Noise);
    LayerReport layer = Judged(CumSum(n), {{"x", x}, {"y", Serial(x)}});
    EXPECT_EQ(layer.verdict, Verdict::kAligned) << n << ": " << layer.reason;
    EXPECT_EQ(layer.step.type, "PlumbCumSum");
    EXPECT_GT(layer.step.members.size(), 1u) << "the layers of the model, by their names";
    layer = Judged(CumSum(n), {{"x", x}, {"y", Serial(x, n / 2)}});
    EXPECT_EQ(layer.verdict, Verdict::kWrong) << n;
  }
}

TEST(WholeNode, NeighboursThatCancelAreASumToo) {
  const Tensor x = Floats({1, 8}, [](int64_t i) { return (i % 2 == 0 ? 1e6f : -1e6f) + 0.1f * static_cast<float>(i); });
  EXPECT_EQ(Judged(CumSum(8), {{"x", x}, {"y", Serial(x)}}).verdict, Verdict::kAligned);
}

// Where the subject has a tensor between its layers, each is judged on its own.
TEST(WholeNode, StaysSeveralLayersWhereTheSubjectHasThem) {
  ImportRecord record;
  LoadOptions load;
  load.record = &record;
  const auto graph = CumSum(8).Import(load);
  ASSERT_TRUE(graph.ok());
  ASSERT_EQ(record.wholes.layers.size(), 1u);
  const Values inputs = {{"x", Floats({1, 8}, Noise)}};
  std::vector<std::string> all;
  for (const Layer& layer : graph->layers) all.insert(all.end(), layer.outputs.begin(), layer.outputs.end());
  const auto subject = NaiveSubject(*graph, inputs, all);
  ASSERT_TRUE(subject.ok());
  EXPECT_EQ(JudgeSubject(*graph, record, *subject, inputs)->layers.size(), graph->layers.size());
}

// Neighbours of a mean that cancel, summed in eight lanes: each lane grows to 2e6, where the sum stays below 1e4.
TEST(WholeNode, AMeanInLanesIsAlignedThoughNeighboursCancel) {
  constexpr int64_t kCount = 1536;
  OnnxModel m;
  m.Input("x", {2, kCount}).Output("y");
  OnnxModel::SetInts(&m.Node("ReduceMean", {"x"}, {"y"}, "mean"), "axes", {1});
  const Tensor x = Floats({2, kCount}, [](int64_t i) { return (i % 2 == 0 ? 1e4f : -1e4f) + Noise(i); });
  const Tensor y = Floats({2, 1}, [&](int64_t row) {
    float lanes[8] = {};
    for (int64_t i = 0; i < kCount; ++i) lanes[i % 8] += x.data<float>()[row * kCount + i];
    for (int width = 4; width > 0; width /= 2) {
      for (int l = 0; l < width; ++l) lanes[l] += lanes[l + width];
    }
    return lanes[0] / static_cast<float>(kCount);
  });
  EXPECT_EQ(Judged(m, {{"x", x}, {"y", y}}).verdict, Verdict::kAligned);
  const Tensor off = Floats({2, 1}, [&](int64_t row) { return y.data<float>()[row] + 0.1f; });
  EXPECT_EQ(Judged(m, {{"x", x}, {"y", off}}).verdict, Verdict::kWrong);
}

// Linear along one axis, positions in f32 as kernels have them: as far off as a Resize may be, but not as the products
// with exact weights that it is imported as.
TEST(WholeNode, AResizeOfRoundedPositionsIsAligned) {
  constexpr int64_t kIn = 161, kOut = 370;
  const float scale = 2.3f;
  OnnxModel m(13);
  m.Input("x", {1, 1, 1, kIn}).Output("y");
  m.Floats("scales", {4}, {1, 1, 1, scale});
  ::onnx::NodeProto& node = m.Node("Resize", {"x", "", "scales"}, {"y"}, "resize");
  auto* mode = node.add_attribute();
  mode->set_name("mode");
  mode->set_type(::onnx::AttributeProto::STRING);
  mode->set_s("linear");
  const Tensor x = Floats({1, 1, 1, kIn}, [](int64_t i) { return i % 7 == 0 ? 1e4f * Noise(i) : 0; });
  const auto resized = [&](float shift) {
    return Floats({1, 1, 1, kOut}, [&](int64_t o) {
      const float at = std::max(0.0f, (static_cast<float>(o) + 0.5f + shift) / scale - 0.5f);
      const auto left = std::min(static_cast<int64_t>(at), kIn - 1), right = std::min(left + 1, kIn - 1);
      const float part = at - static_cast<float>(left);
      return x.data<float>()[left] * (1 - part) + x.data<float>()[right] * part;
    });
  };
  const LayerReport layer = Judged(m, {{"x", x}, {"y", resized(0)}});
  EXPECT_EQ(layer.verdict, Verdict::kAligned) << layer.reason;
  EXPECT_EQ(layer.step.type, "PlumbResize");
  EXPECT_EQ(Judged(m, {{"x", x}, {"y", resized(0.01f)}}).verdict, Verdict::kWrong);
}

// Five dims have no Upsample: elements are picked axis by axis, by what rule only the node says.
TEST(WholeNode, ANearestResizeOfFiveDimsIsNamed) {
  const auto model = [](const char* coordinates, const char* rounding) {
    OnnxModel m(13);
    m.Input("x", {1, 2, 4, 5, 6}).Output("y");
    m.Floats("scales", {5}, {1, 1, 1.5f, 2, 1.5f});
    ::onnx::NodeProto& node = m.Node("Resize", {"x", "", "scales"}, {"y"}, "resize");
    const auto text = [&](const char* name, const char* value) {
      auto* attribute = node.add_attribute();
      attribute->set_name(name);
      attribute->set_type(::onnx::AttributeProto::STRING);
      attribute->set_s(value);
    };
    text("mode", "nearest"), text("coordinate_transformation_mode", coordinates), text("nearest_mode", rounding);
    return m;
  };
  const OnnxModel says = model("half_pixel", "round_prefer_floor");
  const Values inputs = {{"x", Floats({1, 2, 4, 5, 6}, Noise)}};
  const auto judged = [&](const OnnxModel& computed) {
    const auto subject = NaiveSubject(computed.Import().value(), inputs, {"y"});
    EXPECT_TRUE(subject.ok()) << subject.status().ToString();
    return Judged(says, subject->blobs);
  };
  EXPECT_EQ(judged(says).verdict, Verdict::kAligned);
  const LayerReport other = judged(model("half_pixel", "ceil"));
  EXPECT_EQ(other.verdict, Verdict::kWrong);
  EXPECT_EQ(other.cause,
            "computed as nearest, half_pixel, ceil; the graph says nearest, half_pixel, round_prefer_floor");
}

constexpr int64_t kSize = 6, kTop = 3;

OnnxModel TopK(bool sorted) {
  OnnxModel m;
  m.Input("x", {1, kSize}).Output("v").Output("i");
  m.Ints("k", {1}, {kTop});
  OnnxModel::SetInt(&m.Node("TopK", {"x", "k"}, {"v", "i"}, "top"), "sorted", sorted);
  return m;
}

// What a runtime that chose these elements wrote.
Values Chosen(const std::vector<int64_t>& chosen) {
  const float x[kSize] = {5, 9, 7, 9, 7, 1};
  Values blobs = {{"x", Floats({1, kSize}, [&](int64_t i) { return x[i]; })},
                  {"v", Floats({1, kTop}, [&](int64_t i) { return x[chosen[static_cast<size_t>(i)]]; })}};
  Tensor indices = Tensor::Create(DType::kI64, {1, kTop}).value();
  std::copy(chosen.begin(), chosen.end(), indices.data<int64_t>());
  blobs["i"] = indices;
  return blobs;
}

TEST(WholeNode, OfEqualElementsAnyIsTheTop) {
  const LayerReport first = Judged(TopK(true), Chosen({1, 3, 2}));
  EXPECT_EQ(first.verdict, Verdict::kAligned) << first.reason;
  const LayerReport other = Judged(TopK(true), Chosen({3, 1, 4}));
  EXPECT_EQ(other.verdict, Verdict::kAligned) << other.reason;
  EXPECT_NE(other.outputs[1].reason.find("3 indices name another element of the same value"), std::string::npos)
      << other.outputs[1].reason;
  EXPECT_EQ(Judged(TopK(true), Chosen({1, 1, 2})).verdict, Verdict::kWrong) << "one element twice";
  EXPECT_EQ(Judged(TopK(true), Chosen({5, 0, 2})).verdict, Verdict::kWrong) << "the smallest";
  EXPECT_EQ(Judged(TopK(true), Chosen({2, 1, 3})).verdict, Verdict::kWrong) << "out of order";
  Values garbage = Chosen({1, 3, 2});
  garbage["i"].data<int64_t>()[0] = 1 << 20;
  EXPECT_EQ(Judged(TopK(true), garbage).verdict, Verdict::kWrong);
}

TEST(WholeNode, UnsortedTopKMayHaveAnyOrder) {
  const LayerReport turned = Judged(TopK(false), Chosen({2, 3, 1}));
  EXPECT_EQ(turned.verdict, Verdict::kAligned) << turned.reason;
  EXPECT_EQ(Judged(TopK(false), Chosen({2, 3, 0})).verdict, Verdict::kWrong) << "5 is none of the three";
  Values other = Chosen({2, 3, 1});
  other["v"].data<float>()[0] = 9;  // the element has 7
  EXPECT_EQ(Judged(TopK(false), other).verdict, Verdict::kWrong);
}

// x * exp(c) and a convolution whose weights are dequantised; `given`: tensors that are initialisers in place of the
// nodes.
OnnxModel WithConstants(const Values& given = {}) {
  OnnxModel m;
  m.Input("x", {1, 2, 5, 5}).Output("y");
  const auto add = [&](const std::string& name, const std::function<void()>& node) {
    const auto it = given.find(name);
    if (it == given.end()) return node();
    const float* values = it->second.data<float>();
    m.Floats(name, it->second.shape().dims(), {values, values + it->second.NumElements()});
  };
  m.Floats("c", {1, 1, 1, 5}, {-1, 0.3f, 0.5f, 1, 2});
  add("e", [&] { m.Node("Exp", {"c"}, {"e"}, "exp"); });
  ::onnx::TensorProto& q = *m.graph().add_initializer();
  q.set_name("q");
  q.set_data_type(3);
  for (const int64_t dim : {3, 2, 3, 3}) q.add_dims(dim);
  for (int i = 0; i < 54; ++i) q.add_int32_data(i * 29 % 255 - 127);
  m.Floats("scale", {}, {0.013f});
  add("w", [&] { m.Node("DequantizeLinear", {"q", "scale"}, {"w"}, "dequantise"); });
  m.Node("Mul", {"x", "e"}, {"s"}, "scaled");
  m.Node("Conv", {"s", "w"}, {"y"}, "conv");
  return m;
}

struct JudgedConstants {
  RunReport run;
  std::string Of(const std::string& node) const {
    for (const LayerReport& layer : run.layers) {
      if (layer.step.members.back().nodes.back() == node) return VerdictName(layer.verdict);
    }
    return "no step";
  }
};

// What a runtime computes whose constant `name` is `factor` times ours.
JudgedConstants WithConstantTimes(const std::string& name, float factor, const Shape& shape = {}) {
  ImportRecord record;
  LoadOptions load;
  load.record = &record;
  const auto graph = WithConstants().Import(load);
  EXPECT_TRUE(graph.ok()) << graph.status().ToString();
  const Values inputs = {{"x", Floats({1, 2, 5, 5}, Noise)}};
  Tensor constant = record.folded.constants.at(name).Clone().value();
  for (int64_t i = 0; i < constant.NumElements(); ++i) constant.data<float>()[i] *= factor;
  const auto theirs = WithConstants({{name, constant}}).Import();
  EXPECT_TRUE(theirs.ok()) << theirs.status().ToString();
  auto subject = NaiveSubject(*theirs, inputs, {"s", "y"});
  EXPECT_TRUE(subject.ok()) << subject.status().ToString();
  for (const char* other : {"e", "w"})
    subject->blobs[other] = other == name ? constant : record.folded.constants.at(other);
  if (shape.rank() > 0) subject->blobs[name] = constant.Reshaped(shape).value();
  const auto run = JudgeSubject(*graph, record, *subject, inputs);
  EXPECT_TRUE(run.ok()) << run.status().ToString();
  return {*run};
}

TEST(WholeNode, AFaultInAConstantIsItsNodesAndNotItsReaders) {
  const JudgedConstants healthy = WithConstantTimes("e", 1);
  EXPECT_EQ(healthy.run.verdict, Verdict::kAligned);
  EXPECT_EQ(healthy.run.layers.size(), 2u) << "constants with our bits are no steps";
  const JudgedConstants rounded = WithConstantTimes("e", 1 + 0x1p-23f);
  EXPECT_EQ(rounded.Of("exp") + ", " + rounded.Of("scaled") + ", " + rounded.Of("conv"), "aligned, aligned, aligned")
      << "its last bit";
  const JudgedConstants blob = WithConstantTimes("e", 1.01f);
  EXPECT_EQ(blob.Of("exp") + ", " + blob.Of("scaled") + ", " + blob.Of("conv"), "wrong, aligned, aligned");
  const JudgedConstants weight = WithConstantTimes("w", 1.01f);
  EXPECT_EQ(weight.Of("dequantise") + ", " + weight.Of("scaled") + ", " + weight.Of("conv"), "wrong, aligned, aligned");
  EXPECT_EQ(weight.run.layers[static_cast<size_t>(weight.run.first_wrong)].step.index, -1);
  const JudgedConstants turned = WithConstantTimes("w", 1, {2, 3, 3, 3});
  EXPECT_EQ(turned.run.verdict, Verdict::kAligned) << "a weight in the runtime's own layout";
  EXPECT_EQ(turned.run.layers.size(), 2u);
}

}  // namespace
}  // namespace plumb
