// SPDX-License-Identifier: Apache-2.0
// In what a foreign runtime computed and stored, believed per tensor and per product: what a run does not say of itself
// hides no fault, what is healthy is aligned whichever layers chose 16 bits, and the last line tells what was found.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <random>

#include "base/half.h"
#include "check/numbers/stored_half.h"
#include "check/subject/paired_blobs.h"
#include "op/convolution.h"
#include "op/inner_product.h"
#include "op/strided_slice.h"
#include "plumb/report.h"
#include "reference/core/reference_op.h"
#include "session/foreign_judge.h"
#include "session/session_test_util.h"
#include "util/make_layer.h"

namespace plumb {
namespace {

using Blobs = std::map<std::string, Tensor>;
using Function = std::function<float(float, int64_t)>;

Tensor Gauss(const Shape& shape, double scale, unsigned seed = 5) {
  Tensor tensor = Tensor::Create(DType::kF32, shape).value();
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(0, scale);
  for (int64_t i = 0; i < tensor.NumElements(); ++i) tensor.data<float>()[i] = static_cast<float>(normal(random));
  return tensor;
}

Tensor Image(const Shape& shape) {
  return Changed(Tensor::Zeros(DType::kF32, shape).value(),
                 [](float, int64_t i) { return static_cast<float>((i * 2654435761u >> 7) % 256); });
}

Graph GraphOf(std::vector<Layer> layers, const Shape& input) {
  Graph graph;
  graph.inputs = {{"x", DType::kF32, input}};
  graph.layers = std::move(layers);
  graph.outputs = graph.layers.back().outputs;
  for (size_t i = 0; i < graph.layers.size(); ++i) graph.layers[i].index = static_cast<int>(i);
  return graph;
}

Layer Conv(const std::string& name, const std::string& in, const std::string& out, int64_t from, int64_t to,
           int kernel = 3) {
  Layer layer = MakeLayer(OpKind::kConvolution, name, {in}, {out});
  auto param = std::make_shared<ConvolutionParam>();
  param->in_channels_per_group = static_cast<int>(from);
  param->out_channels = static_cast<int>(to);
  param->kernel_h = param->kernel_w = kernel;
  param->pad_h = param->pad_w = kernel / 2;
  layer.param = param;
  layer.resources["weight"] =
      Gauss({to, from, kernel, kernel}, 1 / std::sqrt(static_cast<double>(from) * kernel * kernel),
            static_cast<unsigned>(out.size()) + static_cast<unsigned>(name.back()));
  return layer;
}

// What a runtime does otherwise than f32 at one layer.
struct Doing {
  DType operands = DType::kF32, stored = DType::kF32, sums = DType::kF32;
  std::function<void(Layer*)> weights;
  Function operand, result;  // of inputs and weights
};
using Runtime = std::function<Doing(const Layer&)>;

Tensor In(DType format, const Tensor& x) { return format == DType::kF32 ? x : RoundedTo(format, x).value(); }

float RoundedTo16(DType format, float x) {
  if (format == DType::kF32) return x;
  return format == DType::kF16 ? HalfToFloat(FloatToHalf(x)) : BFloat16ToFloat(FloatToBFloat16(x));
}

// A convolution of stride 1 whose every addition is rounded, channels first.
Tensor ConvolvedIn(DType format, const Layer& layer, const Tensor& x) {
  const Tensor& w = *layer.Resource("weight");
  const int64_t out = w.shape()[0], in = w.shape()[1], k = w.shape()[2], size = x.shape()[2];
  Tensor y = Tensor::Create(DType::kF32, {1, out, size, size}).value();
  for (int64_t o = 0; o < out * size * size; ++o) {
    float sum = 0;
    for (int64_t t = 0; t < in * k * k; ++t) {
      const int64_t row = o / size % size + t % (k * k) / k - k / 2, column = o % size + t % k - k / 2;
      if (row < 0 || row >= size || column < 0 || column >= size) continue;
      const float product = x.data<float>()[(t / (k * k) * size + row) * size + column] *
                            w.data<float>()[o / (size * size) * in * k * k + t];
      sum = RoundedTo16(format, sum + RoundedTo16(format, product));
    }
    y.data<float>()[o] = sum;
  }
  return y;
}

Blobs Computed(const Graph& graph, const Tensor& x, const Runtime& runtime) {
  const BlobTable infos = InferShapes(graph).value();
  Blobs blobs = {{"x", x}};
  for (const Layer& original : graph.layers) {
    const Doing doing = runtime(original);
    Layer layer = original;
    if (doing.weights) doing.weights(&layer);
    const auto read = [&](const Tensor& operand) {
      return doing.operand ? Changed(operand, doing.operand) : In(doing.operands, operand);
    };
    for (auto& [slot, weight] : layer.resources) weight = read(weight);
    std::vector<Tensor> inputs;
    for (const std::string& input : layer.inputs) {
      const auto constant = graph.constants.find(input);
      inputs.push_back(read(constant == graph.constants.end() ? blobs.at(input) : constant->second));
    }
    Tensor y = Tensor::Create(DType::kF32, infos.at(layer.outputs[0]).shape).value();
    ReferenceArgs args{layer, {}, {&y}};
    for (const Tensor& input : inputs) args.inputs.push_back(&input);
    EXPECT_TRUE(GetReferenceOp(layer.kind).run(args).ok());
    if (doing.sums != DType::kF32 && layer.kind == OpKind::kConvolution) y = ConvolvedIn(doing.sums, layer, inputs[0]);
    if (doing.result) y = Changed(y, doing.result);
    blobs[layer.outputs[0]] = In(doing.stored, y);
  }
  return blobs;
}

RunReport Judge(const Graph& graph, Blobs blobs, const std::vector<std::string>& without = {},
                std::optional<SubjectArithmetic> declared = std::nullopt) {
  for (const std::string& blob : without) blobs.erase(blob);
  const Tensor x = blobs.at("x");
  std::vector<NamedTensor> tensors;
  for (const auto& [name, tensor] : blobs) tensors.push_back({name, tensor});
  const auto paired =
      PairedBlobs::Create(TensorSet::Of(tensors).value(), graph, InferShapes(graph).value(), SurveyOptions()).value();
  return JudgeForeign("subject", graph, *paired, {{"x", x}}, declared, CheckOptions()).value();
}

std::string LastLine(const RunReport& run, const std::string& expect, int exit_code) {
  CheckResult result;
  result.checked.expect = expect;
  result.runs = {run};
  const Conclusion conclusion = Conclude(result);
  EXPECT_EQ(conclusion.exit_code, exit_code) << conclusion.line;
  return conclusion.line;
}

Tensor Constant(float value) { return Values({value}, {1}); }

// x / 255, minus 0.5: a network's preprocessing, of an 8-bit image.
Graph Preprocessing(const Shape& shape) {
  Graph graph = GraphOf(
      {MakeLayer(OpKind::kDiv, "div", {"x", "scale"}, {"d"}), MakeLayer(OpKind::kSub, "sub", {"d", "mean"}, {"s"})},
      shape);
  graph.constants = {{"scale", Constant(255)}, {"mean", Constant(0.5f)}};
  return graph;
}

std::string Guilty(const RunReport& run) {
  return run.first_wrong < 0 ? "" : run.layers[static_cast<size_t>(run.first_wrong)].step.name;
}

TEST(Precision, CopiesOfAnImageAreNoSixteenBitsAndNoGrid) {
  const Graph graph = Preprocessing({1, 3, 20, 20});
  const Tensor image = Image({1, 3, 20, 20});
  const RunReport healthy = Judge(graph, Computed(graph, image, [](const Layer&) { return Doing(); }));
  EXPECT_EQ(healthy.Count(Verdict::kAligned), 2);
  EXPECT_TRUE(healthy.computed_as.empty());
  Graph divided = graph, shifted = graph;
  divided.constants["scale"] = Constant(256);
  shifted.constants["mean"] = Constant(127.0f / 255);
  const auto plain = [](const Layer&) { return Doing(); };
  EXPECT_EQ(Guilty(Judge(graph, Computed(divided, image, plain))), "div") << "k / 256 is a bf16";
  EXPECT_EQ(Guilty(Judge(graph, Computed(shifted, image, plain))), "sub") << "k / 255 - 127 / 255 lies on a grid";
}

// k / 256 is a bf16; the model's own integers say so, and not the runtime's format.
TEST(Precision, DequantisedIntegersAreNoSixteenBits) {
  const Shape shape{1, 3, 20, 20};
  Graph graph = GraphOf({MakeLayer(OpKind::kPlumbDequantizeLinear, "reals", {"x", "step"}, {"y"})}, shape);
  graph.inputs[0] = {"x", DType::kI64, shape};
  graph.constants["step"] = Constant(0x1p-8f);
  Tensor integers = Tensor::Create(DType::kI64, shape).value(), reals = Tensor::Create(DType::kF32, shape).value();
  for (int64_t i = 0; i < integers.NumElements(); ++i) {
    integers.data<int64_t>()[i] = i * 37 % 256 - 128;
    reals.data<float>()[i] = static_cast<float>(integers.data<int64_t>()[i]) * 0x1p-8f;
  }
  const RunReport run = Judge(graph, {{"x", integers}, {"y", reals}});
  EXPECT_EQ(run.Count(Verdict::kAligned), 1);
  EXPECT_EQ(run.judged_as, "NCHW, fp32");
  EXPECT_TRUE(run.computed_as.empty());
}

TEST(Precision, WholeNumbersAreNoSixteenBitsAndNoGrid) {
  Graph graph =
      GraphOf({MakeLayer(OpKind::kMul, "mul", {"x", "k"}, {"m"}), MakeLayer(OpKind::kFloor, "floor", {"m"}, {"f"}),
               MakeLayer(OpKind::kCeil, "ceil", {"m"}, {"c"}), MakeLayer(OpKind::kPlumbRound, "round", {"m"}, {"r"})},
              {1, 3, 20, 20});
  graph.outputs = {"f", "c", "r"};
  graph.constants = {{"k", Constant(0.5f)}};  // so that there are ties
  const Tensor image = Image({1, 3, 20, 20});
  const auto with = [&](const std::string& name, const Function& result) {
    return Judge(graph, Computed(graph, image, [&](const Layer& layer) {
                   Doing doing;
                   if (layer.name == name) doing.result = result;
                   return doing;
                 }));
  };
  EXPECT_EQ(with("", {}).Count(Verdict::kAligned), 4);
  EXPECT_EQ(Guilty(with("floor", [](float v, int64_t) { return v - 1; })), "floor");
  EXPECT_EQ(Guilty(with("ceil", [&](float, int64_t i) { return std::floor(image.data<float>()[i] * 0.5f); })), "ceil");
  EXPECT_EQ(Guilty(with("round", [&](float, int64_t i) { return std::floor(image.data<float>()[i] * 0.5f + 0.5f); })),
            "round");
}

// YOLOX's first layers: nine copies of the image's values, and one convolution.
TEST(Precision, Int8WeightsBehindCopiesOfAnImageAreWrong) {
  std::vector<Layer> layers;
  for (int i = 0; i < 4; ++i) {
    auto param = std::make_shared<StridedSliceV2Param>();
    param->begins = {i / 2, i % 2}, param->ends = {32, 32}, param->axes = {2, 3}, param->strides = {2, 2};
    layers.push_back(MakeLayer(OpKind::kStridedSliceV2, "slice" + std::to_string(i), {"x"}, {"p" + std::to_string(i)}));
    layers.back().param = param;
  }
  layers.push_back(MakeLayer(OpKind::kConcat, "concat", {"p0", "p1", "p2", "p3"}, {"c"}));
  layers.push_back(Conv("conv", "c", "y", 12, 16));
  const Graph graph = GraphOf(layers, {1, 3, 32, 32});
  const RunReport run = Judge(graph, Computed(graph, Image({1, 3, 32, 32}), [](const Layer&) {
                                Doing doing;
                                doing.weights = [](Layer* layer) {
                                  if (layer->Resource("weight") == nullptr) return;
                                  Tensor& w = layer->resources["weight"];
                                  float largest = 0;
                                  for (int64_t i = 0; i < w.NumElements(); ++i)
                                    largest = std::max(largest, std::fabs(w.data<float>()[i]));
                                  const float step = largest / 127;
                                  w = Changed(w, [&](float v, int64_t) { return std::nearbyint(v / step) * step; });
                                };
                                return doing;
                              }));
  EXPECT_EQ(Guilty(run), "conv");
  EXPECT_TRUE(Has(run.layers[5].cause, "weights rounded to int8 per tensor")) << run.layers[5].cause;
}

constexpr int64_t kSize = 10, kChannels = 16;

// `count` times Convolution -> ReLU, then an InnerProduct.
Graph Chain(int count) {
  std::vector<Layer> layers;
  std::string in = "x";
  for (int i = 1; i <= count; ++i) {
    const std::string n = std::to_string(i);
    layers.push_back(Conv("conv" + n, in, "c" + n, kChannels, kChannels));
    layers.push_back(MakeLayer(OpKind::kReLU, "relu" + n, {"c" + n}, {"r" + n}));
    in = "r" + n;
  }
  Layer last = MakeLayer(OpKind::kInnerProduct, "gemm", {in}, {"y"});
  auto param = std::make_shared<InnerProductParam>();
  param->num_output = 24;
  last.param = param;
  last.resources["weight"] = Gauss({24, kChannels * kSize * kSize}, 0.025);
  layers.push_back(last);
  return GraphOf(layers, {1, kChannels, kSize, kSize});
}

bool IsConv(const Layer& layer) { return layer.kind == OpKind::kConvolution; }

// OpenVINO's bf16: its first convolution alone stores bf16, the others hand out f32, the last Gemm is f32 altogether.
TEST(Precision, WhatRoundsItsOperandsMayStoreSixteenBitsLayerByLayer) {
  const Graph graph = Chain(4);
  for (const DType format : {DType::kBF16, DType::kF16}) {
    const auto runtime = [&](float gain) {
      return [format, gain](const Layer& layer) {
        Doing doing;
        if (!IsConv(layer)) return doing;
        doing.operands = format;
        if (layer.name == "conv1") doing.stored = format;
        if (layer.name == "conv3")
          doing.weights = [gain](Layer* conv) {
            conv->resources["weight"] = Changed(conv->resources["weight"], [=](float w, int64_t) { return gain * w; });
          };
        return doing;
      };
    };
    const Tensor x = Gauss(graph.inputs[0].shape, 1);
    const RunReport healthy = Judge(graph, Computed(graph, x, runtime(1)));
    EXPECT_EQ(healthy.Count(Verdict::kAligned), 9) << DTypeName(format) << " " << Guilty(healthy);
    const std::string expected =
        fmt::format(" as {} operands in 4 of 4 Convolution (found)", format == DType::kF16 ? "f16 or tf32" : "bf16");
    EXPECT_TRUE(Has(LastLine(healthy, "any", 0), expected)) << LastLine(healthy, "any", 0);
    EXPECT_EQ(Guilty(Judge(graph, Computed(graph, x, runtime(1.01f)))), "conv3") << DTypeName(format);
  }
}

// oneDNN's convolution that stores bf16 takes its bias in bf16, too.
TEST(Precision, WhatStoresSixteenBitsMayHaveRoundedItsBias) {
  Graph graph = Chain(4);
  for (Layer& layer : graph.layers) {
    if (layer.name != "conv1") continue;
    static_cast<ConvolutionParam&>(*layer.param).bias = true;
    layer.resources["bias"] = Gauss({kChannels}, 1);
  }
  const auto runtime = [](const Layer& layer) {
    Doing doing;
    if (!IsConv(layer)) return doing;
    doing.operands = DType::kBF16;  // of all that it owns
    if (layer.name == "conv1") doing.stored = DType::kBF16;
    return doing;
  };
  const RunReport run = Judge(graph, Computed(graph, Gauss(graph.inputs[0].shape, 1), runtime));
  EXPECT_EQ(run.Count(Verdict::kAligned), 9) << Guilty(run);
  EXPECT_EQ(run.judged_as, "NCHW, fp32+bf16-products");
}

// Autocast with Conv of three dimensions, which is imported as several convolutions and their sum.
TEST(Precision, AConvolutionOfSeveralLayersIsAProduct) {
  std::vector<Layer> layers;
  std::string in = "x";
  for (int i = 1; i <= 3; ++i) {
    const std::string n = std::to_string(i);
    layers.push_back(Conv("a" + n, in, "a" + n, kChannels, kChannels));
    layers.push_back(Conv("b" + n, in, "b" + n, kChannels, kChannels));
    layers.push_back(MakeLayer(OpKind::kAdd, "conv3d" + n, {"a" + n, "b" + n}, {"c" + n}));
    layers.push_back(MakeLayer(OpKind::kSoftplus, "plus" + n, {"c" + n}, {"s" + n}));
    layers.push_back(MakeLayer(OpKind::kSigmoid, "gate" + n, {"s" + n}, {"g" + n}));
    in = "g" + n;
  }
  const Graph graph = GraphOf(layers, {1, kChannels, kSize, kSize});
  const Blobs blobs = Computed(graph, Gauss(graph.inputs[0].shape, 1), [](const Layer& layer) {
    Doing doing;
    if (IsConv(layer)) doing.operands = DType::kBF16;
    if (layer.kind == OpKind::kAdd) doing.stored = DType::kBF16;
    return doing;
  });
  const RunReport run = Judge(graph, blobs, {"a1", "b1", "a2", "b2", "a3", "b3"});
  EXPECT_EQ(run.Count(Verdict::kAligned), 9) << Guilty(run);
  EXPECT_EQ(run.judged_as, "NCHW, bf16");
}

// tract's f16, and a phone's whose vectors add in f16.
TEST(Precision, SumsInSixteenBitsAreHealthyWhereMostAreSo) {
  const Graph graph = Chain(5);
  const Tensor x = Gauss(graph.inputs[0].shape, 1);
  const auto runtime = [&](const std::string& faulty, float gain) {
    return [=](const Layer& layer) {
      Doing doing;
      doing.operands = doing.stored = DType::kF16;
      doing.sums = DType::kF16;
      if (layer.name == faulty) doing.result = [gain](float v, int64_t) { return gain * v; };
      return doing;
    };
  };
  const RunReport healthy = Judge(graph, Computed(graph, x, runtime("", 1)));
  EXPECT_EQ(healthy.Count(Verdict::kWrong) + healthy.Count(Verdict::kGrey), 0) << Guilty(healthy);
  EXPECT_TRUE(Has(LastLine(healthy, "any", 0), "f16 sums in 5 of 5 Convolution (found)"))
      << LastLine(healthy, "any", 0);
  const RunReport declared = Judge(graph, Computed(graph, x, runtime("", 1)), {}, SubjectArithmetic::kFp16);
  EXPECT_EQ(declared.Count(Verdict::kWrong) + declared.Count(Verdict::kGrey), 0) << Guilty(declared);
  const RunReport faulty = Judge(graph, Computed(graph, x, runtime("conv3", 1.06f)));
  EXPECT_EQ(Guilty(faulty), "conv3");
  EXPECT_EQ(faulty.Count(Verdict::kWrong), 1);
}

void RoundPerChannel(float levels, Layer* layer) {
  Tensor& w = layer->resources["weight"];
  const int64_t channels = w.shape()[0], each = w.NumElements() / channels;
  std::vector<float> steps;
  for (int64_t c = 0; c < channels; ++c) {
    float largest = 0;
    for (int64_t i = 0; i < each; ++i) largest = std::max(largest, std::fabs(w.data<float>()[c * each + i]));
    steps.push_back(largest / levels);
  }
  w = Changed(w, [&](float v, int64_t i) {
    const float step = steps[static_cast<size_t>(i / each)];
    return std::nearbyint(v / step) * step;
  });
}

// The commonest fault there is: a network that was quantised by accident.
TEST(Precision, TheLastLineTellsWhatWasNotF32AndWhatWasExpected) {
  const Graph graph = Chain(4);
  const Tensor x = Gauss(graph.inputs[0].shape, 1);
  const auto weights_in = [](DType format) {
    return [format](Layer* layer) { layer->resources["weight"] = In(format, layer->resources["weight"]); };
  };
  const std::map<std::string, std::function<void(Layer*)>> kinds = {
      {"int8 weights", [](Layer* layer) { RoundPerChannel(127, layer); }},
      {"int4 weights", [](Layer* layer) { RoundPerChannel(7, layer); }},
      {"f16 weights", weights_in(DType::kF16)},
      {"bf16 weights", weights_in(DType::kBF16)},
  };
  for (const auto& [what, change] : kinds) {
    const auto changes = change;
    const RunReport run = Judge(graph, Computed(graph, x, [&](const Layer& layer) {
                                  Doing doing;
                                  if (IsConv(layer)) doing.weights = changes;
                                  return doing;
                                }));
    EXPECT_EQ(run.Count(Verdict::kAligned), 9) << what;
    const std::string as = what + " in 4 of 4 Convolution (found)";
    EXPECT_TRUE(Has(LastLine(run, "any", 0), "subject aligned as " + as)) << LastLine(run, "any", 0);
    for (const char* expect : {"fp32", "model"}) {
      const std::string line = LastLine(run, expect, 1);
      EXPECT_TRUE(Has(line, "FAILED: subject is computed as " + as + ", expected ")) << line;
    }
    CheckedModel checked;
    EXPECT_TRUE(Has(FormatSummary(checked, run), as)) << "with --quiet";
    CheckResult result;
    result.checked.expect = "fp32";
    result.runs = {run};
    EXPECT_TRUE(Has(FormatJunit(result), "<failure message=\"computed as " + as)) << FormatJunit(result);
    EXPECT_TRUE(Has(FormatJson(result), "\"unexpected\": [\n    \"" + as)) << FormatJson(result).substr(0, 3000);
  }
  const RunReport plain = Judge(graph, Computed(graph, x, [](const Layer&) { return Doing(); }));
  EXPECT_TRUE(plain.computed_as.empty());
  EXPECT_FALSE(Has(LastLine(plain, "fp32", 0), " as "));
}

Function Mantissa(int bits) {
  return [bits](float v, int64_t) {
    int exponent;
    const float significand = std::frexp(v, &exponent);
    return std::ldexp(std::nearbyint(std::ldexp(significand, bits)), exponent - bits);
  };
}

TEST(Precision, OperandsOfFewerBitsAreToldOrWrong) {
  const Graph graph = Chain(4);
  const Tensor x = Gauss(graph.inputs[0].shape, 1);
  const auto with = [&](const Function& operand) {
    return Judge(graph, Computed(graph, x, [&](const Layer& layer) {
                   Doing doing;
                   if (IsConv(layer)) doing.operand = operand;
                   return doing;
                 }));
  };
  const RunReport tf32 = with(Mantissa(11));
  EXPECT_TRUE(Has(LastLine(tf32, "any", 0), "f16 or tf32 operands in 4 of 4 Convolution (found)"));
  LastLine(tf32, "tf32", 0);
  LastLine(tf32, "fp32", 1);
  const RunReport sixteen = with(Mantissa(16));  // as two parts in bf16 have it
  EXPECT_TRUE(Has(LastLine(sixteen, "any", 0), "16-bit")) << LastLine(sixteen, "any", 0);
  LastLine(sixteen, "fp32", 1);
}

TEST(Precision, WhatIsExpectedIsAllowed) {
  RunReport run;
  run.computed_as = {{"int8 weights", {"int8"}, "Convolution", 4, 4, false}};
  EXPECT_TRUE(Unexpected("any", run).empty());
  EXPECT_TRUE(Unexpected("int8", run).empty());
  EXPECT_EQ(Unexpected("fp16", run).size(), 1u);
  EXPECT_EQ(Unexpected("model", run).size(), 1u);
  run.own_precisions = {"int8"};
  EXPECT_TRUE(Unexpected("model", run).empty());
}

}  // namespace
}  // namespace plumb
