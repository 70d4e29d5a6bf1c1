// SPDX-License-Identifier: Apache-2.0
// Subjects whose runtime computed a group of layers as one although its inner tensors are there: an equal form is
// aligned and named, another function or a fault inside stays wrong. Inner tensors are computed layer by layer in f32,
// the last one in f32 as the fused kernel does.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "computed_otherwise_util.h"
#include "op/activation.h"
#include "op/convolution.h"
#include "op/reduce.h"
#include "op/softmax.h"
#include "plumb/plumb.h"
#include "util/attention_graph.h"

namespace plumb {
namespace {

using Blobs = std::map<std::string, Tensor>;
using Function = std::function<float(float)>;

Tensor Constant(float value) {
  Tensor tensor = Tensor::Create(DType::kF32, {1}).value();
  tensor.data<float>()[0] = value;
  return tensor;
}

// Every blob, each layer rounded to f32.
Stored LayerByLayer(const Graph& graph, const Tensor& x) {
  const BlobTable infos = InferShapes(graph).value();
  Stored subject;
  subject.blobs["x"] = x;
  for (const Layer& layer : graph.layers) {
    Tensor y = Tensor::Create(DType::kF32, infos.at(layer.outputs[0]).shape).value();
    ReferenceArgs args{layer, {}, {&y}};
    for (const std::string& input : layer.inputs) {
      const auto constant = graph.constants.find(input);
      args.inputs.push_back(constant == graph.constants.end() ? &subject.blobs.at(input) : &constant->second);
    }
    EXPECT_TRUE(GetReferenceOp(layer.kind).run(args).ok());
    subject.blobs[layer.outputs[0]] = y;
  }
  return subject;
}

LayerReport LastOf(const Graph& graph, const Stored& subject) {
  return CheckSubjectBlobs(graph, subject, {}, {}).value().layers.back();
}

Layer Clip06() {
  Layer layer = MakeLayer(OpKind::kClip, "clip", {"a"}, {"c"});
  auto param = std::make_shared<ClipParam>();
  param->min = 0, param->max = 6;
  layer.param = param;
  return layer;
}

// x * clip(x + 3, 0, 6); the division by 6 is the next layer's.
Graph HardSwish() {
  Graph graph = GraphOf({MakeLayer(OpKind::kAdd, "add", {"x", "three"}, {"a"}), Clip06(),
                         MakeLayer(OpKind::kMul, "mul", {"x", "c"}, {"y"})},
                        {1, 8, 64});
  graph.constants["three"] = Constant(3);
  return graph;
}

float FusedHardSwish(float x) { return 6 * (x * std::clamp(x * (1 / 6.f) + 0.5f, 0.f, 1.f)); }

Graph Gelu() {
  Graph graph =
      GraphOf({MakeLayer(OpKind::kDiv, "div", {"x", "root"}, {"d"}), MakeLayer(OpKind::kErf, "erf", {"d"}, {"e"}),
               MakeLayer(OpKind::kAdd, "add", {"e", "one"}, {"a"}), MakeLayer(OpKind::kMul, "mul", {"x", "a"}, {"m"}),
               MakeLayer(OpKind::kMul, "half", {"m", "point5"}, {"y"})},
              {1, 8, 64});
  graph.constants = {{"root", Constant(1.41421356f)}, {"one", Constant(1)}, {"point5", Constant(0.5f)}};
  return graph;
}

// Values around the zero of x + 3, and everywhere else.
Tensor NearMinusThree() {
  Tensor x = Gauss({1, 8, 64}, 2);
  for (int i = 0; i < 64; ++i) x.data<float>()[i] = -3 + 1e-4f * static_cast<float>(i + 1);
  return x;
}

TEST(Fused, HardSwishOfAnEqualFormIsAlignedAndCounted) {
  const Graph graph = HardSwish();
  Stored subject = LayerByLayer(graph, NearMinusThree());
  ASSERT_EQ(LastOf(graph, subject).verdict, Verdict::kAligned);
  subject.blobs["y"] = Mapped(subject.blobs["x"], [](double x) { return FusedHardSwish(static_cast<float>(x)); });
  const RunReport run = CheckSubjectBlobs(graph, subject, {}, {}).value();
  const LayerReport& last = run.layers.back();
  EXPECT_EQ(last.verdict, Verdict::kAligned) << last.reason;
  EXPECT_EQ(last.cause, "computed as one fused HardSwish ('add', 'clip', 'mul')");
  EXPECT_LT(last.Worst()->excess, 1) << "the numbers shown are those of the group";
  EXPECT_EQ(run.verdict, Verdict::kAligned);
  ASSERT_EQ(run.notes.size(), 1u);
  EXPECT_EQ(run.notes[0].find("computed fused: 1 HardSwish;"), 0u) << run.notes[0];
}

// Nothing inside is there, and the form is ncnn's: where x + 3 cancels, the chained bound is far too tight for it.
TEST(Fused, AStepThatIsOneFunctionMayTakeAnotherForm) {
  const Graph graph = HardSwish();
  Stored subject = LayerByLayer(graph, NearMinusThree());
  subject.blobs.erase("a");
  subject.blobs.erase("c");
  const auto with = [&](float gain) {
    subject.blobs["y"] = Mapped(subject.blobs["x"], [&](double v) {
      const auto x = static_cast<float>(v);
      return gain * (x < -3 ? 0.f : x > 3 ? 6 * x : 6 * (x * (x * (1 / 6.f) + 0.5f)));
    });
    return LastOf(graph, subject);
  };
  const LayerReport equal = with(1);
  EXPECT_EQ(equal.verdict, Verdict::kAligned) << equal.reason;
  EXPECT_EQ(equal.cause, "computed as one fused HardSwish ('add', 'clip', 'mul')");
  EXPECT_EQ(with(1.0001f).verdict, Verdict::kWrong);
}

TEST(Fused, FaultsInsideStayWrong) {
  const Graph graph = HardSwish();
  Stored subject = LayerByLayer(graph, NearMinusThree());
  const Tensor& x = subject.blobs["x"];
  // Eight times the fused kernel's own rounding error.
  subject.blobs["y"] = Mapped(x, [](double v) {
    const double exact = v * std::clamp(v + 3, 0.0, 6.0);
    return exact + 8 * (static_cast<double>(FusedHardSwish(static_cast<float>(v))) - exact);
  });
  EXPECT_EQ(LastOf(graph, subject).verdict, Verdict::kWrong);
  subject.blobs["y"] =
      Mapped(x, [](double v) { return 1.0001 * static_cast<double>(FusedHardSwish(static_cast<float>(v))); });
  EXPECT_EQ(LastOf(graph, subject).verdict, Verdict::kWrong);
  subject.blobs["y"] = Mapped(x, [](double v) { return FusedHardSwish(static_cast<float>(v)); });
  subject.blobs["y"].data<float>()[100] *= 1.001f;
  EXPECT_EQ(LastOf(graph, subject).verdict, Verdict::kWrong) << "one value";
}

// An inner tensor that is itself wrong is named where it is, and does not make the last layer wrong.
TEST(Fused, AWrongInnerTensorIsNamedItself) {
  const Graph graph = HardSwish();
  Stored subject = LayerByLayer(graph, NearMinusThree());
  subject.blobs["y"] = Mapped(subject.blobs["x"], [](double x) { return FusedHardSwish(static_cast<float>(x)); });
  subject.blobs["a"].data<float>()[200] += 0.01f;
  const RunReport run = CheckSubjectBlobs(graph, subject, {}, {}).value();
  ASSERT_EQ(run.first_wrong, 0);
  EXPECT_EQ(run.layers.back().verdict, Verdict::kAligned) << run.layers.back().reason;
}

TEST(Fused, GeluOfAnEqualFormIsAlignedAndTanhGeluIsNot) {
  const Graph graph = Gelu();
  Stored subject = LayerByLayer(graph, Gauss({1, 8, 64}, 2));
  const auto with = [&](const Function& f) {
    subject.blobs["y"] = Mapped(subject.blobs["x"], [&](double x) { return f(static_cast<float>(x)); });
    return LastOf(graph, subject);
  };
  const LayerReport equal = with([](float x) { return 0.5f * x * std::erfc(-x * 0.70710678f); });
  EXPECT_EQ(equal.verdict, Verdict::kAligned) << equal.reason;
  EXPECT_EQ(equal.cause, "computed as one fused erf-GELU ('div', 'erf', 'add', 'mul', 'half')");
  ExpectNamed(with([](float x) { return 0.5f * x * (1 + std::tanh(0.7978845608f * (x + 0.044715f * x * x * x))); }),
              "computed as tanh-GELU; the graph says erf-GELU");
}

// y = x sigmoid(x), Sigmoid's own tensor a little off.
TEST(Fused, SiluAndMishByTheirOwnExponential) {
  Graph silu =
      GraphOf({MakeLayer(OpKind::kSigmoid, "sigmoid", {"x"}, {"s"}), MakeLayer(OpKind::kMul, "mul", {"x", "s"}, {"y"})},
              {1, 8, 64});
  Stored subject = LayerByLayer(silu, Gauss({1, 8, 64}, 4));
  Tensor& s = subject.blobs["s"];
  for (int i = 0; i < s.NumElements(); ++i)
    s.data<float>()[i] += (i % 2 == 0 ? 1e-7f : -1e-7f);  // within Sigmoid's bound
  subject.blobs["y"] = Mapped(subject.blobs["x"], [](double x) {
    const auto v = static_cast<float>(x);
    return v / (1 + std::exp(-v));
  });
  const RunReport run = CheckSubjectBlobs(silu, subject, {}, {}).value();
  EXPECT_EQ(run.layers[0].verdict, Verdict::kAligned);
  EXPECT_EQ(run.layers[1].cause, "computed as one fused SiLU ('sigmoid', 'mul')") << run.layers[1].reason;
  EXPECT_EQ(run.verdict, Verdict::kAligned);
}

Layer Mean(const std::string& name, const std::string& in, const std::string& out) {
  Layer layer = MakeLayer(OpKind::kReduceMean, name, {in}, {out});
  auto param = std::make_shared<ReduceParam>();
  param->axes = {2};
  param->keep_dims = true;
  layer.param = param;
  return layer;
}

// Rows of mean 100: the mean's own rounding is 1e-5 of what remains.
TEST(Fused, LayerNormFromItsOwnMeanIsAlignedAndWithoutEpsilonIsNot) {
  constexpr float kEpsilon = 1e-2f;
  Graph graph =
      GraphOf({Mean("mean", "x", "m"), MakeLayer(OpKind::kSub, "sub", {"x", "m"}, {"d"}),
               MakeLayer(OpKind::kMul, "square", {"d", "d"}, {"q"}), Mean("variance", "q", "v"),
               MakeLayer(OpKind::kAdd, "add", {"v", "epsilon"}, {"w"}), MakeLayer(OpKind::kSqrt, "sqrt", {"w"}, {"s"}),
               MakeLayer(OpKind::kDiv, "div", {"d", "s"}, {"y"})},
              {1, 8, 64});
  graph.constants["epsilon"] = Constant(kEpsilon);
  Stored subject = LayerByLayer(graph, Gauss({1, 8, 64}, 1, 100));
  const Tensor& x = subject.blobs["x"];
  const auto fused = [&](float epsilon) {
    Tensor y = x.Clone().value();
    for (int row = 0; row < 8; ++row) {
      float *r = y.data<float>() + row * 64, mean = 0, variance = 0;
      for (int i = 0; i < 64; ++i) mean += r[i] * (1 / 64.f);
      for (int i = 0; i < 64; ++i) variance += (r[i] - mean) * (r[i] - mean) * (1 / 64.f);
      const float scale = 1 / std::sqrt(variance + epsilon);
      for (int i = 0; i < 64; ++i) r[i] = (r[i] - mean) * scale;
    }
    subject.blobs["y"] = y;
    return LastOf(graph, subject);
  };
  const LayerReport equal = fused(kEpsilon);
  EXPECT_EQ(equal.verdict, Verdict::kAligned) << equal.reason;
  EXPECT_EQ(equal.cause.find("computed as one fused LayerNorm ('mean', 'sub', "), 0u) << equal.cause;
  EXPECT_EQ(fused(0).verdict, Verdict::kWrong) << "it is another function without epsilon";
}

// a b + c with one rounding, where a b and c nearly cancel.
TEST(Fused, AContractedProductAndSumIsAligned) {
  Graph graph =
      GraphOf({MakeLayer(OpKind::kMul, "mul", {"x", "x"}, {"m"}), MakeLayer(OpKind::kAdd, "add", {"m", "c"}, {"y"})},
              {1, 8, 64});
  const Tensor x = Gauss({1, 8, 64});
  Tensor c = Mapped(x, [](double v) { return static_cast<float>(-v * v * (1 + 1e-6)); });
  graph.constants["c"] = c;
  Stored subject = LayerByLayer(graph, x);
  for (int i = 0; i < x.NumElements(); ++i)
    subject.blobs["y"].data<float>()[i] = std::fma(x.data<float>()[i], x.data<float>()[i], c.data<float>()[i]);
  const LayerReport last = LastOf(graph, subject);
  EXPECT_EQ(last.verdict, Verdict::kAligned) << last.reason;
  EXPECT_EQ(last.cause, "computed as one fused Mul+Add ('mul', 'add')");
  for (int i = 0; i < x.NumElements(); ++i) subject.blobs["y"].data<float>()[i] += 1e-5f * x.data<float>()[i];
  EXPECT_EQ(LastOf(graph, subject).verdict, Verdict::kWrong);
}

constexpr int64_t kChannels = 384, kPixels = 64;

// A serial f32 sum over the channels of w x, scaled beforehand, as each channel of the result has it.
Tensor Convolved(const Tensor& x, const Tensor& weight, const std::function<float(int64_t)>& scale,
                 const std::function<float(int64_t)>& shift) {
  Tensor y = Tensor::Create(DType::kF32, {1, 4, 8, 8}).value();
  for (int64_t i = 0; i < y.NumElements(); ++i) {
    const int64_t out = i / kPixels;
    float sum = 0;
    for (int64_t c = 0; c < kChannels; ++c)
      sum += scale(out) * weight.data<float>()[out * kChannels + c] * x.data<float>()[c * kPixels + i % kPixels];
    y.data<float>()[i] = sum + shift(out);
  }
  return y;
}

// tract folds a batch normalisation into the convolution before, and computes that once more where it is asked for.
TEST(Fused, ANormalisationFoldedIntoTheConvolutionBeforeReachesBackThroughIt) {
  Layer conv = MakeLayer(OpKind::kConvolution, "conv", {"x"}, {"c"});
  auto param = std::make_shared<ConvolutionParam>();
  param->in_channels_per_group = kChannels, param->out_channels = 4, param->kernel_h = param->kernel_w = 1;
  conv.param = param;
  conv.resources["weight"] = Gauss({4, kChannels, 1, 1});
  Layer norm = MakeLayer(OpKind::kBatchNormCxx, "norm", {"c"}, {"n"});
  norm.resources["scale"] = Gauss({4}, 0.2, 1), norm.resources["bias"] = Gauss({4});
  const Graph graph = GraphOf({conv, norm, MakeLayer(OpKind::kReLU, "relu", {"n"}, {"y"})}, {1, kChannels, 8, 8});
  const Tensor x = Gauss({1, kChannels, 8, 8}, 1, 1), weight = conv.resources["weight"];
  const float *scale = norm.resources["scale"].data<float>(), *shift = norm.resources["bias"].data<float>();
  Stored subject;
  subject.blobs["x"] = x;
  subject.blobs["c"] = Convolved(
      x, weight, [](int64_t) { return 1.0f; }, [](int64_t) { return 0.0f; });
  subject.blobs["n"] = Convolved(
      x, weight, [&](int64_t c) { return scale[c]; }, [&](int64_t c) { return shift[c]; });
  subject.blobs["y"] = Mapped(subject.blobs["n"], [](double v) { return std::max(v, 0.0); });
  const RunReport run = CheckSubjectBlobs(graph, subject, {}, {}).value();
  EXPECT_EQ(run.Count(Verdict::kAligned), 3) << run.layers[1].reason;
  EXPECT_EQ(run.layers[1].cause, "computed as one fused Convolution+BatchNormCxx ('conv', 'norm')");
  for (int64_t i = 0; i < kPixels; ++i) subject.blobs["n"].data<float>()[i] *= 1.0001f;
  const RunReport faulty = CheckSubjectBlobs(graph, subject, {}, {}).value();
  EXPECT_EQ(faulty.first_wrong, 1) << "one channel by 1e-4";
}

// Tenths of multiples of five are ties in f32: that the product in front might be a little off is no excuse for another
// rule.
TEST(Fused, AnotherRoundingRuleIsNotExcusedByWhatComesBefore) {
  Graph graph = GraphOf(
      {MakeLayer(OpKind::kMul, "mul", {"x", "c"}, {"m"}), MakeLayer(OpKind::kPlumbRound, "round", {"m"}, {"y"})},
      {1, 8, 64});
  graph.constants["c"] = Constant(0.1f);
  Stored subject = LayerByLayer(graph, Mapped(Gauss({1, 8, 64}, 9), [](double v) { return 5 * std::nearbyint(v); }));
  EXPECT_EQ(LastOf(graph, subject).verdict, Verdict::kAligned);
  const auto rounded = [&](const std::function<double(double)>& rule) {
    subject.blobs["y"] = Mapped(subject.blobs["m"], rule);
    return LastOf(graph, subject);
  };
  ExpectNamed(rounded([](double v) { return std::floor(v + 0.5); }),
              "computed as rounding half up; the graph says rounding half to even");
  ExpectNamed(rounded([](double v) { return std::round(v); }),
              "computed as rounding half away from zero; the graph says rounding half to even");
}

// Whole numbers lie on a grid of int8 by themselves: what rounds to it is the operator, and exactly so.
TEST(Fused, ARoundInAnInt8SubjectIsExact) {
  Graph graph =
      GraphOf({MakeLayer(OpKind::kMul, "mul", {"x", "c"}, {"m"}), MakeLayer(OpKind::kPlumbRound, "round", {"m"}, {"y"}),
               MakeLayer(OpKind::kMul, "back", {"y", "c"}, {"z"})},
              {1, 8, 64});
  graph.constants["c"] = Constant(0.5f);
  Stored subject = LayerByLayer(graph, Mapped(Gauss({1, 8, 64}, 9), [](double v) { return std::nearbyint(v); }));
  SubjectOptions options;
  options.check.arithmetic = SubjectArithmetic::kInt8;
  const auto judged = [&] { return CheckSubjectBlobs(graph, subject, {}, options).value().layers[1]; };
  EXPECT_EQ(judged().verdict, Verdict::kAligned) << judged().reason;
  subject.blobs["y"] = Mapped(subject.blobs["m"], [](double v) { return std::floor(v + 0.5); });
  ExpectNamed(judged(), "computed as rounding half up; the graph says rounding half to even");
}

// Scores of 4 rows of 8 keys, of which a mask hides all of the second row and two of the last.
Graph Masked(float hidden) {
  Layer softmax = MakeLayer(OpKind::kSoftmax, "softmax", {"m"}, {"y"});
  auto param = std::make_shared<SoftmaxParam>();
  param->axis = 3;
  softmax.param = param;
  Graph graph = GraphOf({MakeLayer(OpKind::kAdd, "add", {"x", "mask"}, {"m"}), softmax}, {1, 2, 4, 8});
  Tensor mask = Tensor::Zeros(DType::kF32, {1, 1, 4, 8}).value();
  for (int key = 0; key < 8; ++key) mask.data<float>()[8 + key] = hidden;
  mask.data<float>()[30] = mask.data<float>()[31] = hidden;
  graph.constants["mask"] = mask;
  return graph;
}

// However uncertain each weight of such a row is.
TEST(Fused, WeightsOfARowThatIsHiddenAddUpToOne) {
  for (const float hidden : {-1e4f, -1e9f, std::numeric_limits<float>::lowest()}) {
    SCOPED_TRACE(hidden);
    const Graph graph = Masked(hidden);
    Stored subject = LayerByLayer(graph, Gauss({1, 2, 4, 8}));
    for (const bool inner : {true, false}) {
      if (!inner) subject.blobs.erase("m");
      Stored zeros = subject;
      EXPECT_EQ(LastOf(graph, zeros).verdict, Verdict::kAligned) << LastOf(graph, zeros).reason;
      Tensor& y = zeros.blobs["y"] = subject.blobs["y"].Clone().value();
      for (const int row : {1, 5}) std::fill_n(y.data<float>() + row * 8, 8, 0.0f);
      ExpectNamed(LastOf(graph, zeros),
                  "computed with weights of 0 where the mask hides every key of a row; the graph says weights that add "
                  "up to 1");
      y.data<float>()[0] += 0.01f;
      const LayerReport other = LastOf(graph, zeros);
      EXPECT_EQ(other.verdict, Verdict::kWrong);
      EXPECT_EQ(other.cause, "") << "that is not all of it";
    }
  }
}

TEST(Fused, ARowOfAttentionThatIsHiddenIsNotZero) {
  AttentionForm form;
  form.mask = {16, 1};
  form.hidden = -1e9f;
  const auto graph = AttentionGraph(form);
  const std::map<std::string, Tensor> inputs = AttentionInputs(*graph, form);
  Stored subject{inputs};
  const auto network = CreateNetwork(graph, "NAIVE").value();
  for (const auto& [name, value] : inputs) ASSERT_TRUE(network->SetInput(name, value).ok());
  ASSERT_TRUE(network->Forward().ok());
  Tensor& y = subject.blobs["y"] = network->GetOutput("y").value();
  const auto judged = [&] { return CheckSubjectBlobs(*graph, subject, inputs, {}).value().layers.back(); };
  EXPECT_EQ(judged().verdict, Verdict::kAligned) << judged().reason;
  const Tensor mask = MaskOf(form.mask, form.hidden, false);
  for (int64_t row = 0; row < 32; ++row) {
    if (mask.data<float>()[row % 16] < 0) std::fill_n(y.data<float>() + row * 8, 8, 0.0f);
  }
  ExpectNamed(judged(),
              "computed with weights of 0 where the mask hides every key of a row; the graph says weights that add up "
              "to 1");
}

}  // namespace
}  // namespace plumb
