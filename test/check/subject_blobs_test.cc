// SPDX-License-Identifier: Apache-2.0
// Subjects that have tensors for some blobs only: which layers become one step, and what is said where no bound leads
// through.
#include <gtest/gtest.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <functional>
#include <set>

#include "base/half.h"
#include "check/cause/input_match.h"
#include "check/subject/subject_steps.h"
#include "op/activation.h"
#include "op/arg_max.h"
#include "op/cast.h"
#include "op/convolution.h"
#include "op/quantize_linear.h"
#include "op/reduce.h"
#include "plumb/check.h"
#include "util/make_layer.h"
#include "util/stored_blobs.h"

namespace plumb {
namespace {

Graph Numbered(std::vector<Layer> layers, const Shape& input, std::vector<std::string> outputs) {
  Graph graph;
  graph.inputs = {{"x", DType::kF32, input}};
  graph.outputs = std::move(outputs);
  graph.layers = std::move(layers);
  for (size_t i = 0; i < graph.layers.size(); ++i) graph.layers[i].index = static_cast<int>(i);
  return graph;
}

std::vector<std::string> Members(const Graph& graph, const std::set<std::string>& known) {
  const BlobTable blobs = InferShapes(graph).value();
  std::vector<std::string> steps;
  for (const Cone& cone : FindCones(graph, blobs, [&](const std::string& blob) { return known.count(blob) != 0; })) {
    std::string text = cone.known ? "" : "-";
    for (const Layer* member : cone.group.members) text += member->name;
    steps.push_back(text + (cone.missing.empty() ? "" : "?" + cone.missing));
  }
  return steps;
}

// x -> A -> a -> B -> b; a -> C -> c; Add(b, c) = D -> d -> E -> e
Graph Fork() {
  return Numbered({MakeLayer(OpKind::kSigmoid, "A", {"x"}, {"a"}), MakeLayer(OpKind::kTanh, "B", {"a"}, {"b"}),
                   MakeLayer(OpKind::kReLU, "C", {"a"}, {"c"}), MakeLayer(OpKind::kAdd, "D", {"b", "c"}, {"d"}),
                   MakeLayer(OpKind::kExp, "E", {"d"}, {"e"})},
                  {1, 8}, {"e"});
}

TEST(Cones, GrowFromTheLastKnownBlobsToTheNext) {
  const Graph graph = Fork();
  EXPECT_EQ(Members(graph, {"x", "a", "b", "c", "d", "e"}), (std::vector<std::string>{"A", "B", "C", "D", "E"}));
  EXPECT_EQ(Members(graph, {"x", "a", "d", "e"}), (std::vector<std::string>{"A", "BCD", "E"}));
  EXPECT_EQ(Members(graph, {"x", "e"}), (std::vector<std::string>{"ABCDE"}));
  EXPECT_EQ(Members(graph, {"x", "b", "c"}), (std::vector<std::string>{"ABC", "-D", "-E"}))
      << "A is shared: one step with two outputs";
  EXPECT_EQ(Members(graph, {"x", "b", "d"}), (std::vector<std::string>{"AB", "ACD", "-E"}))
      << "D reads b, which A and B make: A is replayed twice";
  EXPECT_EQ(Members(graph, {"d", "e"}), (std::vector<std::string>{"ABCD?x", "E"}));
}

TEST(SubjectBlobs, AForkWithinIsJudgedOnBothOutputs) {
  const Graph graph = Fork();
  Stored subject;
  Tensor x = Tensor::Create(DType::kF32, {1, 8}).value(), b = x.Clone().value(), c = x.Clone().value();
  for (int i = 0; i < 8; ++i) {
    x.data<float>()[i] = 0.3f * static_cast<float>(i) - 1;
    const double a = 1 / (1 + std::exp(-static_cast<double>(x.data<float>()[i])));
    b.data<float>()[i] = static_cast<float>(std::tanh(a));
    c.data<float>()[i] = static_cast<float>(a);
  }
  subject.blobs = {{"x", x}, {"b", b}, {"c", c}};
  SubjectOptions any;
  any.check.min_tested = 0;  // D and E are missing
  EXPECT_EQ(CheckSubjectBlobs(graph, subject, {{"x", x}}, any).value().verdict, Verdict::kAligned);
  EXPECT_EQ(CheckSubjectBlobs(graph, subject, {{"x", x}}, {}).value().verdict, Verdict::kNotTested);
  b.data<float>()[3] *= 1.001f;
  const RunReport report = CheckSubjectBlobs(graph, subject, {{"x", x}}, {}).value();
  ASSERT_EQ(report.first_wrong, 0);
  EXPECT_EQ(report.layers[0].Worst()->blob, "b");
  EXPECT_EQ(report.layers[1].verdict, Verdict::kNotTested);
}

// Every tensor rounded to f16 before the next layer reads it.
Stored HalfFork() {
  const auto half = [](double v) { return HalfToFloat(FloatToHalf(static_cast<float>(v))); };
  Stored subject;
  for (const char* blob : {"x", "a", "b", "c", "d", "e"})
    subject.blobs[blob] = Tensor::Create(DType::kF32, {1, 8}).value();
  for (int i = 0; i < 8; ++i) {
    const auto at = [&](const char* blob) -> float& { return subject.blobs[blob].data<float>()[i]; };
    at("x") = half(0.3 * i - 1);
    at("a") = half(1 / (1 + std::exp(-static_cast<double>(at("x")))));
    at("b") = half(std::tanh(static_cast<double>(at("a"))));
    at("c") = at("a");
    at("d") = half(static_cast<double>(at("b")) + static_cast<double>(at("c")));
    at("e") = half(std::exp(static_cast<double>(at("d"))));
  }
  return subject;
}

TEST(SubjectBlobs, StorageIsJudgedAsDeclared) {
  const Graph graph = Fork();
  Stored subject = HalfFork();
  SubjectOptions options;
  EXPECT_EQ(CheckSubjectBlobs(graph, subject, {}, options).value().verdict, Verdict::kWrong)
      << "f16 is a fault in an fp32 run";
  options.check.arithmetic = SubjectArithmetic::kFp16;
  const RunReport healthy = CheckSubjectBlobs(graph, subject, {}, options).value();
  EXPECT_EQ(healthy.verdict, Verdict::kAligned) << healthy.layers[0].reason;
  EXPECT_EQ(healthy.Count(Verdict::kAligned), 5);
  for (int i = 0; i < 8; ++i) subject.blobs["e"].data<float>()[i] *= 1.05f;
  const RunReport faulty = CheckSubjectBlobs(graph, subject, {}, options).value();
  ASSERT_EQ(faulty.first_wrong, 4);
  options.check.arithmetic = SubjectArithmetic::kBf16;
  EXPECT_EQ(CheckSubjectBlobs(graph, HalfFork(), {}, options).value().verdict, Verdict::kWrong)
      << "ReLU copies f16 bits that are no bf16";
}

// Convolution with a bias (4 channels of 3), then a Sigmoid; of x so much is not 0.
RunReport OnZeros(int64_t live_channels) {
  Layer conv = MakeLayer(OpKind::kConvolution, "conv", {"x"}, {"c"});
  auto param = std::make_shared<ConvolutionParam>();
  param->in_channels_per_group = 3, param->out_channels = 4, param->kernel_h = param->kernel_w = 1, param->bias = true;
  conv.param = param;
  Tensor &weight = conv.resources["weight"] = Tensor::Create(DType::kF32, {4, 3, 1, 1}).value(),
         &bias = conv.resources["bias"] = Tensor::Create(DType::kF32, {4}).value();
  for (int i = 0; i < 12; ++i) weight.data<float>()[i] = static_cast<float>(i % 5) - 2;
  for (int i = 0; i < 4; ++i) bias.data<float>()[i] = static_cast<float>(i) - 1;
  const Graph graph = Numbered({conv, MakeLayer(OpKind::kSigmoid, "sigmoid", {"c"}, {"y"})}, {1, 3, 4, 4}, {"y"});
  Tensor x = Tensor::Zeros(DType::kF32, {1, 3, 4, 4}).value(), c = Tensor::Zeros(DType::kF32, {1, 4, 4, 4}).value();
  for (int64_t i = 0; i < live_channels * 16; ++i) x.data<float>()[i] = static_cast<float>(i % 7) - 3;
  Tensor y = c.Clone().value();
  for (int64_t i = 0; i < 64; ++i) {
    float& sum = c.data<float>()[i] = bias.data<float>()[i / 16];
    for (int64_t k = 0; k < 3; ++k) sum += weight.data<float>()[i / 16 * 3 + k] * x.data<float>()[k * 16 + i % 16];
    y.data<float>()[i] = static_cast<float>(1 / (1 + std::exp(-static_cast<double>(sum))));
  }
  return CheckSubjectBlobs(graph, Stored({{"x", x}, {"c", c}, {"y", y}}), {}, {}).value();
}

TEST(SubjectBlobs, WeightsThatReadZerosAreNotTested) {
  const RunReport none = OnZeros(0);
  EXPECT_EQ(none.layers[0].verdict, Verdict::kNotTested);
  EXPECT_EQ(none.layers[0].reason, "weights of 'conv' were not exercised: its input is 0 everywhere");
  EXPECT_EQ(none.layers[1].verdict, Verdict::kAligned);
  EXPECT_EQ(none.coverage.steps, 1);
  const RunReport some = OnZeros(2);
  EXPECT_EQ(some.layers[0].verdict, Verdict::kAligned);
  EXPECT_NE(some.layers[0].reason.find("1 of 3 input channels of 'conv' are 0 everywhere"), std::string::npos)
      << some.layers[0].reason;
  EXPECT_EQ(OnZeros(3).layers[0].reason, "");
}

// A function of x in [-size, size], written right.
LayerReport Limited(OpKind kind, double size, const std::function<double(double)>& function,
                    std::shared_ptr<OpParam> param = nullptr) {
  Layer layer = MakeLayer(kind, "limited", {"x"}, {"y"});
  if (param != nullptr) layer.param = std::move(param);
  const Graph graph = Numbered({layer}, {1, 4, 16, 16}, {"y"});
  Tensor x = Tensor::Create(DType::kF32, {1, 4, 16, 16}).value(), y = x.Clone().value();
  for (int64_t i = 0; i < x.NumElements(); ++i) {
    const float value = x.data<float>()[i] =
        static_cast<float>(size * (static_cast<double>(i * 37 % 1024) - 511.5) / 512);
    y.data<float>()[i] = static_cast<float>(function(static_cast<double>(value)));
  }
  return CheckSubjectBlobs(graph, Stored({{"x", x}, {"y", y}}), {}, {}).value().layers[0];
}

// Values that are all at a limit say nothing of what they are computed from.
TEST(SubjectBlobs, WhatIsAlwaysAtALimitIsNotTested) {
  const auto six = [](double x) { return std::clamp(x, 0.0, 6.0); };
  EXPECT_EQ(Limited(OpKind::kReLU6, 9, six).verdict, Verdict::kAligned);
  EXPECT_EQ(Limited(OpKind::kReLU6, 9, six).reason, "");
  const LayerReport always = Limited(OpKind::kReLU6, 1e6, six);
  EXPECT_EQ(always.verdict, Verdict::kNotTested);
  EXPECT_EQ(always.reason,
            "'limited' was not exercised: each of its values is at a limit (0 or 6), whatever it is computed from");
  const LayerReport nearly = Limited(OpKind::kReLU6, 1000, six);
  EXPECT_EQ(nearly.verdict, Verdict::kAligned);
  EXPECT_NE(nearly.reason.find("values of 'limited' are at a limit (0 or 6)"), std::string::npos) << nearly.reason;
  auto clip = std::make_shared<ClipParam>();
  clip->min = -2, clip->max = 3;
  const auto clipped = [](double x) { return std::clamp(x, -2.0, 3.0); };
  EXPECT_EQ(Limited(OpKind::kClip, 5, clipped, clip).verdict, Verdict::kAligned);
  EXPECT_EQ(Limited(OpKind::kClip, 1e5, clipped, clip).verdict, Verdict::kNotTested);
}

// Tanh is 1 in f32 long before it is 1.
TEST(SubjectBlobs, SoftLimitsAreLimits) {
  const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  const std::pair<OpKind, std::function<double(double)>> functions[] = {
      {OpKind::kTanh, [](double x) { return std::tanh(x); }},
      {OpKind::kErf, [](double x) { return std::erf(x); }},
      {OpKind::kSigmoid, sigmoid}};
  for (const auto& [kind, function] : functions) {
    EXPECT_EQ(Limited(kind, 3, function).verdict, Verdict::kAligned) << static_cast<int>(kind);
    EXPECT_EQ(Limited(kind, 3, function).reason, "") << static_cast<int>(kind);
    EXPECT_EQ(Limited(kind, 4e4, function).verdict, Verdict::kNotTested) << static_cast<int>(kind);
  }
}

// Where tanh is 1 a kernel that is 6e-7 off there is so everywhere: one error, half of what a tanh may have.
TEST(SubjectBlobs, AnErrorThatASaturatedFunctionRepeatsCountsOnce) {
  const Graph graph = Numbered({MakeLayer(OpKind::kTanh, "A", {"x"}, {"a"})}, {1, 8, 16, 16}, {"a"});
  const auto judged = [&](float size) {
    Tensor x = Tensor::Create(DType::kF32, {1, 8, 16, 16}).value(), y = x.Clone().value();
    for (int64_t i = 0; i < x.NumElements(); ++i) {
      x.data<float>()[i] = size * (static_cast<float>(i * 37 % 2048) + 0.5f) / 2048;
      y.data<float>()[i] = std::tanh(x.data<float>()[i]) - 6e-7f;
    }
    return CheckSubjectBlobs(graph, Stored({{"x", x}, {"a", y}}), {}, {}).value().layers[0];
  };
  LayerReport layer = judged(4000);
  EXPECT_EQ(layer.verdict, Verdict::kAligned) << layer.reason;
  EXPECT_NEAR(layer.outputs[0].excess, 0.5, 0.1);
  layer = judged(3);
  EXPECT_EQ(layer.verdict, Verdict::kWrong) << "each of these is an error of its own";
  EXPECT_NEAR(layer.outputs[0].excess, 0.5, 0.1);
}

// Tensors as they come from files: each load is a copy of its own, and how many of these are alive is counted.
class CountedLoads : public BlobSource {
 public:
  explicit CountedLoads(const Stored& stored) : stored_(stored) {}
  bool Has(const std::string& blob) const override { return stored_.Has(blob); }
  Result<Tensor> Load(const std::string& blob) const override {
    PLUMB_ASSIGN_OR_RETURN(const Tensor stored, stored_.Load(blob));
    PLUMB_ASSIGN_OR_RETURN(Tensor copy, stored.Clone());
    ++loads_;
    most_ = std::max(most_, ++*alive_);
    const std::shared_ptr<void> owner(copy.raw(), [copy, alive = alive_](void*) { --*alive; });
    return Tensor::View(copy.dtype(), copy.shape(), copy.raw(), owner);
  }
  int loads() const { return loads_; }
  int most() const { return most_; }

 private:
  const Stored& stored_;
  mutable int loads_ = 0, most_ = 0;
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);
};

// A chain of any length is judged with as few tensors in memory as a short one.
TEST(SubjectBlobs, HoldsNoMoreTensorsThanAStepReadsAndWrites) {
  int most[2] = {};
  for (const int length : {6, 60}) {
    std::vector<Layer> layers;
    Stored subject;
    Tensor value = Tensor::Create(DType::kF32, {1, 8}).value();
    for (int i = 0; i < 8; ++i) value.data<float>()[i] = 0.3f * static_cast<float>(i) - 1;
    subject.blobs["x"] = value;
    std::string blob = "x";
    for (int i = 0; i < length; ++i) {
      const std::string next = "y" + std::to_string(i);
      layers.push_back(MakeLayer(OpKind::kNeg, next, {blob}, {next}));
      value = value.Clone().value();
      for (int k = 0; k < 8; ++k) value.data<float>()[k] *= -1;
      subject.blobs[next] = value;
      blob = next;
    }
    const CountedLoads counted(subject);
    const auto report = CheckSubjectBlobs(Numbered(std::move(layers), {1, 8}, {blob}), counted, {}, {});
    ASSERT_TRUE(report.ok()) << report.status().message();
    EXPECT_EQ(report->verdict, Verdict::kAligned);
    EXPECT_GE(counted.loads(), length + 1);
    EXPECT_LE(counted.loads(), 3 * (length + 1)) << "each as input, as output and once more";
    most[length > 6] = counted.most();
  }
  EXPECT_EQ(most[1], most[0]);
  EXPECT_LE(most[1], 8);
}

// Four Sigmoids whose inputs are all near -9: 12 u is a thousandth of their outputs, and 0.1 % more of one is below
// that.
TEST(SubjectBlobs, ASubjectThatIsRightRelativelyIsHeldToIt) {
  Graph graph =
      Numbered({MakeLayer(OpKind::kSigmoid, "A", {"x"}, {"a"}), MakeLayer(OpKind::kSigmoid, "B", {"x"}, {"b"}),
                MakeLayer(OpKind::kSigmoid, "C", {"x"}, {"c"}), MakeLayer(OpKind::kSigmoid, "D", {"x"}, {"d"})},
               {1, 64}, {"a", "b", "c", "d"});
  Stored subject;
  Tensor x = Tensor::Create(DType::kF32, {1, 64}).value(), y = x.Clone().value();
  for (int i = 0; i < 64; ++i) {
    x.data<float>()[i] = 0.01f * static_cast<float>(i) - 9;
    y.data<float>()[i] = static_cast<float>(1 / (1 + std::exp(-static_cast<double>(x.data<float>()[i]))));
  }
  subject.blobs = {{"x", x}, {"a", y}, {"b", y}, {"c", y.Clone().value()}, {"d", y}};
  const RunReport healthy = CheckSubjectBlobs(graph, subject, {}, {}).value();
  EXPECT_EQ(healthy.verdict, Verdict::kAligned);
  EXPECT_LT(healthy.layers[0].outputs[0].smallest_fault, 1e-6);
  for (int i = 0; i < 64; ++i) subject.blobs["c"].data<float>()[i] *= 1.001f;
  const RunReport report = CheckSubjectBlobs(graph, subject, {}, {}).value();
  EXPECT_EQ(report.layers[2].verdict, Verdict::kGrey);
  EXPECT_NE(report.layers[2].reason.find("by the relative bound, which 3 other Sigmoid layers of this run keep"),
            std::string::npos)
      << report.layers[2].reason;
  EXPECT_EQ(report.Count(Verdict::kAligned), 3);
  graph.layers.resize(3);
  graph.outputs.resize(3);
  subject.blobs["b"] = subject.blobs["c"];
  EXPECT_EQ(CheckSubjectBlobs(graph, subject, {}, {}).value().verdict, Verdict::kAligned) << "one of three keeps it";
}

// Behind values that rounding may move, an index is judged unless it is next to a tie; then either is right.
TEST(SubjectBlobs, AnIndexBehindMissingTensorsIsJudged) {
  auto arg_max = std::make_shared<ArgMaxParam>();
  arg_max->axis = 1;
  std::vector<Layer> layers = {MakeLayer(OpKind::kSigmoid, "s", {"x"}, {"a"}),
                               MakeLayer(OpKind::kArgMaxOrMin, "m", {"a"}, {"i"}),
                               MakeLayer(OpKind::kCast, "f", {"i"}, {"y"})};
  layers[1].param = arg_max;
  const Graph graph = Numbered(std::move(layers), {2, 4}, {"y"});
  Stored subject;
  Tensor x = Tensor::Create(DType::kF32, {2, 4}).value(), y = Tensor::Create(DType::kF32, {2, 1}).value();
  for (int i = 0; i < 8; ++i) x.data<float>()[i] = static_cast<float>((i * 5) % 7);
  y.data<float>()[0] = 1;  // 0 5 3 1
  y.data<float>()[1] = 0;  // 6 4 2 0
  subject.blobs = {{"x", x}, {"y", y}};
  RunReport report = CheckSubjectBlobs(graph, subject, {}, {}).value();
  EXPECT_EQ(report.layers[0].verdict, Verdict::kAligned) << report.layers[0].reason;
  y.data<float>()[1] = 3;
  report = CheckSubjectBlobs(graph, subject, {}, {}).value();
  EXPECT_EQ(report.layers[0].verdict, Verdict::kWrong) << report.layers[0].reason;
  x.data<float>()[7] = 6;  // as the first
  report = CheckSubjectBlobs(graph, subject, {}, {}).value();
  EXPECT_EQ(report.layers[0].verdict, Verdict::kAligned) << report.layers[0].reason;
}

// ArgMax itself: of equal elements any, which is said; and a group of exact layers is exact.
TEST(SubjectBlobs, ATieOfArgMaxIsExcusedAndSaid) {
  auto arg_max = std::make_shared<ArgMaxParam>();
  arg_max->axis = 1;
  auto to_i64 = std::make_shared<PlumbCastParam>();
  to_i64->to = "i64";
  std::vector<Layer> layers = {MakeLayer(OpKind::kArgMaxOrMin, "m", {"x"}, {"i"}),
                               MakeLayer(OpKind::kPlumbCast, "w", {"i"}, {"y"})};
  layers[0].param = arg_max;
  layers[1].param = to_i64;
  const Graph graph = Numbered(std::move(layers), {2, 4}, {"y"});
  Stored subject;
  Tensor x = Tensor::Create(DType::kF32, {2, 4}).value(), y = Tensor::Create(DType::kI64, {2, 1}).value();
  for (int i = 0; i < 8; ++i) x.data<float>()[i] = static_cast<float>((i * 5) % 7);
  y.data<int64_t>()[0] = 1;  // 0 5 3 1
  y.data<int64_t>()[1] = 3;  // 6 4 2 0
  subject.blobs = {{"x", x}, {"y", y}};
  RunReport report = CheckSubjectBlobs(graph, subject, {}, {}).value();
  EXPECT_EQ(report.layers[0].verdict, Verdict::kWrong) << report.layers[0].reason;
  x.data<float>()[7] = 6;
  report = CheckSubjectBlobs(graph, subject, {}, {}).value();
  EXPECT_EQ(report.layers[0].verdict, Verdict::kAligned) << report.layers[0].reason;
  EXPECT_EQ(report.layers[0].reason, "1 indices name another element of the same value");
  y.data<int64_t>()[1] = 1;  // neither of the two
  report = CheckSubjectBlobs(graph, subject, {}, {}).value();
  EXPECT_EQ(report.layers[0].verdict, Verdict::kWrong) << report.layers[0].reason;
}

// sqrt(sum x^2) of 1e20 and more passes f32 on the way, and so does x * x: no other function is the cause.
TEST(SubjectBlobs, AnOverflowIsSaidAndWhere) {
  std::vector<Layer> layers = {MakeLayer(OpKind::kReduceL2, "norm", {"x"}, {"n"}),
                               MakeLayer(OpKind::kMul, "square", {"x", "x"}, {"s"}),
                               MakeLayer(OpKind::kSqrt, "root", {"s"}, {"r"})};
  auto along = std::make_shared<ReduceParam>();
  along->axes = {1};
  layers[0].param = along;
  const Graph graph = Numbered(std::move(layers), {1, 8}, {"n", "r"});
  Tensor x = Tensor::Create(DType::kF32, {1, 8}).value(), r = x.Clone().value();
  Tensor n = Tensor::Create(DType::kF32, {1}).value();
  for (int i = 0; i < 8; ++i) {
    x.data<float>()[i] = static_cast<float>(i + 1) * (i < 4 ? 1e20f : 1.0f);
    r.data<float>()[i] = i < 4 ? INFINITY : static_cast<float>(i + 1);
  }
  n.data<float>()[0] = INFINITY;
  const RunReport report = CheckSubjectBlobs(graph, Stored({{"x", x}, {"n", n}, {"r", r}}), {}, {}).value();
  ASSERT_EQ(report.layers.size(), 2u);
  EXPECT_NE(report.layers[0].cause.find("overflow: in 'norm' (ReduceL2) the squares that it sums reach "),
            std::string::npos)
      << report.layers[0].cause;
  EXPECT_NE(report.layers[0].cause.find("; 1 value is infinite or NaN for it"), std::string::npos)
      << report.layers[0].cause;
  EXPECT_NE(report.layers[1].cause.find("overflow: the values of 'square' (Mul) reach 1.6e+41"), std::string::npos)
      << report.layers[1].cause;
  EXPECT_NE(report.layers[1].cause.find("; 4 values are infinite"), std::string::npos) << report.layers[1].cause;
}

// As LiteRT's Add does without an activation: it clamps to the range of f32.
TEST(SubjectBlobs, InfinitiesThatAreHeldAtTheLargestValueAreSaid) {
  const Graph graph = Numbered({MakeLayer(OpKind::kAdd, "sum", {"x", "x"}, {"y"})}, {1, 64}, {"y"});
  Tensor x = Tensor::Create(DType::kF32, {1, 64}).value(), y = x.Clone().value();
  for (int i = 0; i < 64; ++i) {
    x.data<float>()[i] = static_cast<float>(i - 20) * 0.37f;
    y.data<float>()[i] = 2 * x.data<float>()[i];
  }
  x.data<float>()[3] = -INFINITY;
  x.data<float>()[9] = 2e38f;
  y.data<float>()[3] = -FLT_MAX;
  y.data<float>()[9] = FLT_MAX;
  RunReport report = CheckSubjectBlobs(graph, Stored({{"x", x}, {"y", y}}), {}, {}).value();
  EXPECT_EQ(report.layers[0].verdict, Verdict::kWrong);
  EXPECT_EQ(report.layers[0].cause,
            "clamped to f32's range: 2 values are held at its largest, 3.4e+38, where the layer gives infinity");
  y.data<float>()[3] = FLT_MAX;  // of the other sign
  report = CheckSubjectBlobs(graph, Stored({{"x", x}, {"y", y}}), {}, {}).value();
  EXPECT_EQ(report.layers[0].verdict, Verdict::kWrong);
  EXPECT_EQ(report.layers[0].cause.find("clamped"), std::string::npos) << report.layers[0].cause;
}

// By the reciprocal of the scale, as most runtimes quantise: some values next to a tie fall on the other side.
TEST(SubjectBlobs, AQuantisationNextToATieMayFallOnEitherSide) {
  constexpr int64_t kCount = 4096, kNearTies = 8;
  const float scale = 0.013f;
  auto i8 = std::make_shared<QuantizeLinearParam>();
  i8->dtype = "i8";
  std::vector<Layer> layers = {MakeLayer(OpKind::kPlumbQuantizeLinear, "q", {"x", "scale"}, {"y"})};
  layers[0].param = i8;
  Graph graph = Numbered(std::move(layers), {1, kCount}, {"y"});
  graph.constants["scale"] = Tensor::Create(DType::kF32, Shape{}).value();
  graph.constants["scale"].data<float>()[0] = scale;
  Tensor x = Tensor::Create(DType::kF32, {1, kCount}).value(), y = Tensor::Create(DType::kI64, {1, kCount}).value();
  int64_t flipped = 0;
  for (int64_t i = 0; i < kCount; ++i) {
    x.data<float>()[i] =
        i < kNearTies ? (static_cast<float>(i * 5) + 0.5f) * scale : static_cast<float>(i * 37 % 3001 - 1500) * 1e-3f;
    const float q = std::nearbyint(x.data<float>()[i] * (1 / scale));
    flipped += q != std::nearbyint(x.data<float>()[i] / scale);
    y.data<int64_t>()[i] = static_cast<int64_t>(std::clamp(q, -128.0f, 127.0f));
  }
  ASSERT_GT(flipped, 0);
  RunReport report = CheckSubjectBlobs(graph, Stored({{"x", x}, {"y", y}}), {}, {}).value();
  EXPECT_EQ(report.layers[0].verdict, Verdict::kAligned) << report.layers[0].reason;
  EXPECT_EQ(report.layers[0].reason, std::to_string(flipped) + " values lie on the other side of a rounding tie");
  for (int64_t i = 0; i < kCount; i += 100) y.data<int64_t>()[i] -= 1;
  report = CheckSubjectBlobs(graph, Stored({{"x", x}, {"y", y}}), {}, {}).value();
  EXPECT_EQ(report.layers[0].verdict, Verdict::kWrong);
}

TEST(InputMatch, ANaNIsNoFactor) {
  Tensor a = Tensor::Create(DType::kF32, {1, 3, 4, 4}).value();
  for (int i = 0; i < 48; ++i) a.data<float>()[i] = static_cast<float>((i * 5) % 7);
  Tensor b = a.Clone().value();
  b.data<float>()[20] = NAN;
  const InputMatch match = MatchInputs("x", "-i", a, "the subject", b);
  EXPECT_FALSE(match.equal);
  EXPECT_EQ(match.explanation, "1 value is NaN or infinite in the subject only");
}

}  // namespace
}  // namespace plumb
