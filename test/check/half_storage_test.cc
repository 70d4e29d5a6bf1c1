// SPDX-License-Identifier: Apache-2.0
// Tensors that were computed in f32 and dumped as f16 or bf16: each is known to half a unit only, and the weights are
// f32.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/half.h"
#include "check/numbers/half_storage.h"
#include "check/numbers/stored_half.h"
#include "computed_otherwise_util.h"
#include "op/convolution.h"
#include "util/winograd_emulation.h"

namespace plumb {
namespace {

// x -> Convolution -> Sigmoid -> Mul with the convolution -> ReLU: inner tensors a, s, m, y.
Graph Net() {
  Layer conv = MakeLayer(OpKind::kConvolution, "conv", {"x"}, {"a"});
  auto param = std::make_shared<ConvolutionParam>();
  param->group = 1;
  param->in_channels_per_group = param->out_channels = 16;
  param->kernel_h = param->kernel_w = 3;
  param->stride_h = param->stride_w = param->dilation_h = param->dilation_w = 1;
  param->pad_h = param->pad_w = 1;
  param->pad_type = -1;
  conv.param = param;
  conv.resources["weight"] = Gauss({16, 16, 3, 3}, 1 / 12.0);
  return GraphOf({conv, MakeLayer(OpKind::kSigmoid, "sigmoid", {"a"}, {"s"}),
                  MakeLayer(OpKind::kMul, "mul", {"a", "s"}, {"m"}), MakeLayer(OpKind::kReLU, "relu", {"m"}, {"y"})},
                 {1, 16, 9, 9});
}

// Computed in f32 throughout, then rounded.
Stored Dumped(const Graph& graph, DType storage) {
  Stored subject;
  subject.blobs["x"] = Gauss(graph.inputs[0].shape);
  for (const Layer& layer : graph.layers) {
    Tensor y = Tensor::Create(DType::kF32, graph.inputs[0].shape).value();
    ReferenceArgs args{layer, {}, {&y}};
    for (const std::string& input : layer.inputs) {
      const auto constant = graph.constants.find(input);
      args.inputs.push_back(constant == graph.constants.end() ? &subject.blobs.at(input) : &constant->second);
    }
    EXPECT_TRUE(GetReferenceOp(layer.kind).run(args).ok());
    subject.blobs[layer.outputs[0]] = y;
  }
  for (auto& [name, value] : subject.blobs) value = RoundedTo(storage, value).value();
  return subject;
}

RunReport JudgeAs(const Graph& graph, const Stored& subject, SubjectArithmetic arithmetic) {
  SubjectOptions options;
  options.check.arithmetic = arithmetic;
  return CheckSubjectBlobs(graph, subject, {}, options).value();
}

TEST(HalfStorage, IsAlignedAsWhatItIsAndItsFaultsAreNot) {
  const Graph graph = Net();
  for (const bool half : {true, false}) {
    const DType storage = half ? DType::kF16 : DType::kBF16;
    const auto stored = half ? SubjectArithmetic::kStoredF16 : SubjectArithmetic::kStoredBf16;
    Stored subject = Dumped(graph, storage);
    EXPECT_GE(
        JudgeAs(graph, subject, half ? SubjectArithmetic::kFp16 : SubjectArithmetic::kBf16).Count(Verdict::kWrong), 1)
        << "the bits that layers read were others";
    const RunReport healthy = JudgeAs(graph, subject, stored);
    EXPECT_EQ(healthy.Count(Verdict::kAligned), 4) << DTypeName(storage);
    const double unit = half ? 0x1p-11 : 0x1p-8;
    for (size_t i = 0; i < 3; ++i) {
      const std::string blob = graph.layers[i].outputs[0];
      Stored faulty = Dumped(graph, storage);
      Tensor changed = faulty.blobs.at(blob).Clone().value();
      for (int64_t k = 0; k < changed.NumElements(); ++k)
        changed.data<float>()[k] *= 1 + static_cast<float>((k % 2 == 0 ? 16 : -16) * unit);
      faulty.blobs[blob] = RoundedTo(storage, changed).value();
      const RunReport report = JudgeAs(graph, faulty, stored);
      ASSERT_EQ(report.first_wrong, static_cast<int>(i)) << blob << " " << DTypeName(storage);
    }
  }
}

// Values beyond f16's range stand as infinite, and were read as what they are: only what does not follow from them can
// be judged, and is.
TEST(HalfStorage, WhatFollowsFromAnOverflowOfTheDumpIsNotJudged) {
  Graph graph = Net();
  graph.layers[0].resources["weight"] = Gauss({16, 16, 3, 3}, 2500);
  graph.layers[1] = MakeLayer(OpKind::kMul, "scale", {"a", "k"}, {"s"});
  graph.constants["k"] = Tensor::Zeros(DType::kF32, {1}).value();
  graph.constants.at("k").data<float>()[0] = 1e-3f;
  graph.layers[2] = MakeLayer(OpKind::kSigmoid, "sigmoid", {"s"}, {"m"});
  Stored subject = Dumped(graph, DType::kF16);
  int64_t overflowed = 0;
  const Tensor a = subject.blobs.at("a");
  for (int64_t i = 0; i < a.NumElements(); ++i) overflowed += std::isinf(a.data<float>()[i]);
  ASSERT_GT(overflowed, 10);
  ASSERT_LT(2 * overflowed, a.NumElements());
  const RunReport healthy = JudgeAs(graph, subject, SubjectArithmetic::kStoredF16);
  EXPECT_EQ(healthy.Count(Verdict::kAligned), 4) << healthy.layers[1].reason;
  Tensor faulty = subject.blobs.at("s").Clone().value();
  for (int64_t i = 0; i < faulty.NumElements(); ++i) faulty.data<float>()[i] *= 1.02f;
  subject.blobs["s"] = RoundedTo(DType::kF16, faulty).value();
  EXPECT_EQ(JudgeAs(graph, subject, SubjectArithmetic::kStoredF16).first_wrong, 1);
}

// A network input that stands in f32 in an fp16 run: rounded before the first layer, or not.
TEST(HalfStorage, AnUnroundedNetworkInputIsNoFaultOfAnFp16Run) {
  Graph graph = GraphOf({MakeLayer(OpKind::kSigmoid, "sigmoid", {"x"}, {"y"})}, {1, 16, 9, 9});
  Stored subject;
  subject.blobs["x"] = Gauss({1, 16, 9, 9}, 20);
  for (const bool rounded : {false, true}) {
    const Tensor read = rounded ? RoundedTo(DType::kF16, subject.blobs["x"]).value() : subject.blobs["x"];
    subject.blobs["y"] = RoundedTo(DType::kF16, Mapped(read, [](double x) { return 1 / (1 + std::exp(-x)); })).value();
    EXPECT_EQ(JudgeAs(graph, subject, SubjectArithmetic::kFp16).verdict, Verdict::kAligned) << rounded;
  }
}

constexpr int kConvolutions = 4;

// Four times Convolution -> Softplus -> Add with the convolution: c1, s1, a1 ...
Graph Mixed() {
  std::vector<Layer> layers;
  std::string in = "x";
  for (int i = 1; i <= kConvolutions; ++i) {
    const std::string n = std::to_string(i);
    Layer conv = Net().layers[0];
    conv.name = "conv" + n, conv.inputs = {in}, conv.outputs = {"c" + n};
    layers.push_back(conv);
    layers.push_back(MakeLayer(OpKind::kSoftplus, "softplus" + n, {"c" + n}, {"s" + n}));
    layers.push_back(MakeLayer(OpKind::kAdd, "add" + n, {"c" + n, "s" + n}, {"a" + n}));
    in = "a" + n;
  }
  return GraphOf(layers, {1, 16, 9, 9});
}

struct Runtime {
  DType format = DType::kF16;
  bool rounds_operands = true;                  // of convolutions
  bool stores_convolutions = true;              // in the format; all else stays in f32
  bool hands_on_f32 = false;                    // the dump is a rounded copy
  int faulty = -1;                              // this layer ...
  std::function<void(Layer*)> change_weights;   // ... has other weights
  std::function<double(double)> change_result;  // ... or another result
};

Tensor Round(const Runtime& runtime, const Tensor& x) { return RoundedTo(runtime.format, x).value(); }

Stored RunOf(const Graph& graph, const Runtime& runtime) {
  Stored dump;
  std::map<std::string, Tensor> read;  // what the next layer reads
  dump.blobs["x"] = read["x"] = Gauss(graph.inputs[0].shape);
  for (size_t i = 0; i < graph.layers.size(); ++i) {
    Layer layer = graph.layers[i];
    const bool product = layer.kind == OpKind::kConvolution;
    if (static_cast<int>(i) == runtime.faulty && runtime.change_weights) runtime.change_weights(&layer);
    if (product && runtime.rounds_operands) layer.resources["weight"] = Round(runtime, layer.resources["weight"]);
    std::vector<Tensor> inputs;
    for (const std::string& input : layer.inputs)
      inputs.push_back(product && runtime.rounds_operands ? Round(runtime, read.at(input)) : read.at(input));
    Tensor y = Tensor::Create(DType::kF32, graph.inputs[0].shape).value();
    ReferenceArgs args{layer, {}, {&y}};
    for (const Tensor& input : inputs) args.inputs.push_back(&input);
    EXPECT_TRUE(GetReferenceOp(layer.kind).run(args).ok());
    if (static_cast<int>(i) == runtime.faulty && runtime.change_result) y = Mapped(y, runtime.change_result);
    const Tensor stored = (product && runtime.stores_convolutions) || runtime.hands_on_f32 ? Round(runtime, y) : y;
    dump.blobs[layer.outputs[0]] = stored;
    read[layer.outputs[0]] = runtime.hands_on_f32 ? y : stored;
  }
  return dump;
}

HalfStorage StorageOf(const Graph& graph, const Stored& dump) {
  std::map<std::string, HalfValues> values;
  for (const auto& [name, value] : dump.blobs) values[name] = HalfValuesOf(value);
  return HalfStorage::Find(graph, values);
}

double ToF16(double x) { return static_cast<double>(HalfToFloat(FloatToHalf(static_cast<float>(x)))); }

void Scale(Layer* layer, float factor) {
  Tensor weight = layer->resources["weight"].Clone().value();
  for (int64_t k = 0; k < weight.NumElements(); ++k) weight.data<float>()[k] *= factor;
  layer->resources["weight"] = weight;
}

// Autocast: products in 16 bits, the others in f32.
TEST(HalfStorage, IsFoundByTheOperator) {
  const Graph graph = Mixed();
  for (const DType format : {DType::kF16, DType::kBF16}) {
    Runtime runtime;
    runtime.format = format;
    const Stored dump = RunOf(graph, runtime);
    const HalfStorage storage = StorageOf(graph, dump);
    ASSERT_EQ(storage.format(), format);
    EXPECT_EQ(storage.Of("c2"), format);
    EXPECT_EQ(storage.Of("s2"), DType::kF32);
    EXPECT_EQ(storage.because(), std::string("4 of 12 results are ") + DTypeName(format) +
                                     " (Convolution), the others f32 (Add, Softplus)");
    const auto arithmetic = format == DType::kF16 ? SubjectArithmetic::kFp16 : SubjectArithmetic::kBf16;
    EXPECT_EQ(JudgeAs(graph, dump, arithmetic).Count(Verdict::kAligned), 12) << DTypeName(format);
    // One Softplus whose result is rounded though its like stay in f32.
    runtime.faulty = 4;
    runtime.change_result = ToF16;
    const RunReport differs = JudgeAs(graph, RunOf(graph, runtime), arithmetic);
    EXPECT_EQ(differs.first_wrong, 4);
    EXPECT_EQ(differs.Count(Verdict::kWrong), 1);
    runtime.faulty = 6;
    runtime.change_result = nullptr;
    runtime.change_weights = [&](Layer* layer) { Scale(layer, format == DType::kF16 ? 1.01f : 1.08f); };
    const RunReport gain = JudgeAs(graph, RunOf(graph, runtime), arithmetic);
    EXPECT_EQ(gain.first_wrong, 6);
    EXPECT_EQ(gain.Count(Verdict::kWrong), 1);
  }
}

// What follows from a division by 0, say.
TEST(HalfStorage, NaNsTellNothing) {
  const Graph graph = Mixed();
  Runtime runtime;
  runtime.rounds_operands = runtime.stores_convolutions = false;
  Stored dump = RunOf(graph, runtime);
  for (auto& [name, value] : dump.blobs) {
    if (name == "x" || name == graph.layers[0].outputs[0]) continue;
    value = value.Clone().value();
    std::fill_n(value.data<float>(), value.NumElements(), NAN);
  }
  EXPECT_EQ(StorageOf(graph, dump).format(), DType::kF32);
}

TEST(HalfStorage, OneRoundedResultOfAnFp32RunIsNone) {
  const Graph graph = Mixed();
  Runtime runtime;
  runtime.rounds_operands = runtime.stores_convolutions = false;
  runtime.faulty = 3;
  runtime.change_result = ToF16;
  EXPECT_EQ(StorageOf(graph, RunOf(graph, runtime)).format(), DType::kF32);
}

// Weights of 16 bits, chains of layers in f32, each tensor of the dump a rounded copy: fp16 networks on CPUs.
TEST(HalfStorage, AChainInF32WithNarrowWeightsIsAlignedAsThatAndItsFaultsAreNot) {
  const Graph graph = Mixed();
  for (const bool half : {true, false}) {
    Runtime runtime;
    runtime.format = half ? DType::kF16 : DType::kBF16;
    runtime.hands_on_f32 = true;
    runtime.rounds_operands = false;
    Graph narrow = graph;
    for (Layer& layer : narrow.layers) {
      if (layer.kind == OpKind::kConvolution) layer.resources["weight"] = Round(runtime, layer.resources["weight"]);
    }
    const auto chained = half ? SubjectArithmetic::kChainedF16 : SubjectArithmetic::kChainedBf16;
    const Stored dump = RunOf(narrow, runtime);
    EXPECT_EQ(JudgeAs(graph, dump, chained).Count(Verdict::kAligned), 12);
    EXPECT_GE(JudgeAs(graph, dump, half ? SubjectArithmetic::kFp16 : SubjectArithmetic::kBf16).Count(Verdict::kWrong),
              3);
    runtime.faulty = 6;
    runtime.change_weights = [&](Layer* layer) { Scale(layer, half ? 1.008f : 1.064f); };
    const RunReport gain = JudgeAs(graph, RunOf(narrow, runtime), chained);
    EXPECT_EQ(gain.first_wrong, 6);
    EXPECT_EQ(gain.Count(Verdict::kWrong), 1);
  }
}

RunReport FindProducts(const Graph& graph, const Stored& dump) {
  SubjectOptions options;
  options.check.find_products = true;
  return CheckSubjectBlobs(graph, dump, {}, options).value();
}

// Operands of products in 16 bits, every blob in f32.
TEST(HalfProducts, AreFoundAndTheirFaultsAreWrong) {
  const Graph graph = Mixed();
  for (const bool half : {true, false}) {
    Runtime runtime;
    runtime.format = half ? DType::kF16 : DType::kBF16;
    runtime.stores_convolutions = false;
    const auto products = half ? SubjectArithmetic::kF16Products : SubjectArithmetic::kBf16Products;
    const Stored dump = RunOf(graph, runtime);
    EXPECT_EQ(StorageOf(graph, dump).format(), DType::kF32);
    EXPECT_EQ(JudgeAs(graph, dump, SubjectArithmetic::kFp32).Count(Verdict::kWrong), kConvolutions);
    EXPECT_EQ(JudgeAs(graph, dump, products).Count(Verdict::kAligned), 12);
    const RunReport found = FindProducts(graph, dump);
    EXPECT_EQ(found.Count(Verdict::kAligned), 12);
    EXPECT_EQ(found.found_arithmetic, products);
    EXPECT_EQ(found.found_because,
              std::string("4 of 4 layers that are beyond fp32 are not beyond sums of products of ") +
                  DTypeName(runtime.format) + " operands: 4 of 4 Convolution");
    runtime.faulty = 6;
    runtime.change_weights = [](Layer* layer) { Scale(layer, 1.001f); };
    const RunReport gain = FindProducts(graph, RunOf(graph, runtime));
    EXPECT_EQ(gain.found_arithmetic, products);
    EXPECT_EQ(gain.first_wrong, 6);
    EXPECT_EQ(gain.Count(Verdict::kWrong), 1);
  }
}

TEST(HalfProducts, OneOfFourIsAFault) {
  const Graph graph = Mixed();
  Runtime runtime;
  runtime.rounds_operands = runtime.stores_convolutions = false;
  runtime.faulty = 3;
  runtime.change_weights = [&](Layer* layer) {
    layer->resources["weight"] = Round(runtime, layer->resources["weight"]);
  };
  const RunReport run = FindProducts(graph, RunOf(graph, runtime));
  EXPECT_EQ(run.found_arithmetic, SubjectArithmetic::kFp32);
  EXPECT_EQ(run.first_wrong, 3);
  EXPECT_EQ(run.layers[3].cause, "computed with weights rounded to f16; the graph says f32");
}

// A product that sums in f16 where its like sum in f32.
TEST(HalfStorage, OneSumInF16IsWrong) {
  const Graph graph = Mixed();
  for (const bool chains : {false, true}) {
    Runtime runtime;
    runtime.hands_on_f32 = chains;
    runtime.rounds_operands = runtime.stores_convolutions = !chains;
    Stored dump = RunOf(graph, runtime);
    Tensor y = dump.blobs.at("c1").Clone().value();
    const Tensor &x = dump.blobs.at("x"), &w = graph.layers[0].resources.at("weight");
    for (int64_t o = 0; o < 16; ++o) {
      for (int64_t p = 0; p < 81; ++p) {
        double sum = 0;
        for (int64_t k = 0; k < 144; ++k) {
          const int64_t i = p / 9 + k % 9 / 3 - 1, j = p % 9 + k % 3 - 1;
          if (i < 0 || i > 8 || j < 0 || j > 8) continue;
          sum = ToF16(sum + ToF16(x.ValueAt((k / 9) * 81 + i * 9 + j)) * ToF16(w.ValueAt(o * 144 + k)));
        }
        y.data<float>()[o * 81 + p] = static_cast<float>(sum);
      }
    }
    dump.blobs["c1"] = y;
    const RunReport run = JudgeAs(graph, dump, chains ? SubjectArithmetic::kChainedF16 : SubjectArithmetic::kFp16);
    EXPECT_EQ(run.first_wrong, 0) << chains;
  }
}

// ncnn stores bf16 around convolutions by Winograd's algorithm in f32: where an image is black it leaves a rest of the
// tile's other pixels.
TEST(HalfStorage, MayStandAroundWinogradsAlgorithm) {
  Graph graph = Net();
  graph.layers.resize(1);
  graph.outputs = {"a"};
  constexpr int64_t kChannels = 16, kSize = 9;
  Stored subject;
  Tensor x = Tensor::Zeros(DType::kF32, graph.inputs[0].shape).value();
  const Tensor values = Gauss(x.shape());
  for (int64_t i = 0; i < x.NumElements(); ++i) {
    if (i % kSize == 0) x.data<float>()[i] = 1e5f * values.data<float>()[i];
  }
  subject.blobs["x"] = RoundedTo(DType::kBF16, x).value();
  Tensor y = Tensor::Create(DType::kF32, x.shape()).value();
  const auto computed =
      EmulateWinograd({4, {0, 1, -1, 2, -2}}, {kChannels, kChannels, kSize, kSize, kSize, kSize, 1},
                      subject.blobs.at("x").data<float>(), graph.layers[0].Resource("weight")->data<float>());
  std::copy(computed.begin(), computed.end(), y.data<float>());
  subject.blobs["a"] = RoundedTo(DType::kBF16, y).value();
  EXPECT_EQ(JudgeAs(graph, subject, SubjectArithmetic::kStoredBf16).verdict, Verdict::kAligned);
  Tensor faulty = subject.blobs.at("a").Clone().value();
  faulty.data<float>()[3] += 64;  // of values up to 10^5, which leave a rest below 1 there
  subject.blobs["a"] = faulty;
  EXPECT_EQ(JudgeAs(graph, subject, SubjectArithmetic::kStoredBf16).verdict, Verdict::kWrong);
}

}  // namespace
}  // namespace plumb
