// Nodes that were imported as several layers although one operator says what they are: another runtime's own order of a sum and
// its own choice among equal elements are no faults; a fault is.
#include <gtest/gtest.h>

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
  EXPECT_NE(other.outputs[1].reason.find("3 indices name another element of the same value"), std::string::npos) << other.outputs[1].reason;
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

}  // namespace
}  // namespace plumb
