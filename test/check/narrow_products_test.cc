// SPDX-License-Identifier: Apache-2.0
// A foreign runtime whose products take weights, or operands, in fewer bits is found by what explains most layers of an
// operator; one that differs from its like stays wrong.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <set>

#include "base/half.h"
#include "computed_otherwise_util.h"
#include "device/device.h"
#include "op/convolution.h"
#include "op/core/op.h"
#include "op/gather.h"
#include "plumb/plumb.h"
#include "reference/core/reference_op.h"

namespace plumb {
namespace {

constexpr int64_t kChannels = 24, kSize = 9, kTaps = 9 * kChannels;
constexpr int kLayers = 6;

std::string Blob(int i) { return i == 0 ? "x" : "b" + std::to_string(i); }

// 3x3 convolutions of stride 2 or 1; behind each, with `norms`, a batch normalisation.
Graph Chain(bool norms = false, OpKind behind_last = OpKind::kIdentity) {
  std::vector<Layer> layers;
  for (int i = 0; i < kLayers; ++i) {
    const std::string out = norms ? "c" + std::to_string(i + 1) : Blob(i + 1);
    Layer layer = MakeLayer(OpKind::kConvolution, "conv" + std::to_string(i), {Blob(i)}, {out});
    auto param = std::make_shared<ConvolutionParam>();
    param->group = 1;
    param->in_channels_per_group = param->out_channels = kChannels;
    param->kernel_h = param->kernel_w = 3;
    param->dilation_h = param->dilation_w = 2;  // not Winograd's
    param->pad_h = param->pad_w = 2;
    param->pad_type = -1;
    layer.param = param;
    layer.resources["weight"] = Gauss({kChannels, kChannels, 3, 3}, 1 / 15.0, 0.002 * (i + 1));
    layers.push_back(std::move(layer));
    if (!norms) continue;
    layers.push_back(MakeLayer(OpKind::kBatchNormCxx, "norm" + std::to_string(i), {out}, {Blob(i + 1)}));
    layers.back().resources["scale"] = Gauss({kChannels}, 0.2, i == 1 ? -1 : 1);
    layers.back().resources["bias"] = Gauss({kChannels}, 0.1);
  }
  if (behind_last != OpKind::kIdentity) {
    layers.back().outputs = {"product"};
    layers.push_back(MakeLayer(behind_last, "last", {"product"}, {Blob(kLayers)}));
  }
  return GraphOf(std::move(layers), {1, kChannels, kSize, kSize});
}

using Round = std::function<void(float* w, int64_t count)>;  // of one output channel

// To 127 steps of max|w|, by the reciprocal: ties may fall on either side.
void Int8(float* w, int64_t count) {
  float largest = 0;
  for (int64_t i = 0; i < count; ++i) largest = std::max(largest, std::fabs(w[i]));
  const float step = largest / 127, inverse = 1 / step;
  for (int64_t i = 0; i < count; ++i) w[i] = std::nearbyint(w[i] * inverse) * step;
}

// To 255 steps above the smallest, as MNN does.
void WithOffset(float* w, int64_t count) {
  const float low = *std::min_element(w, w + count), step = (*std::max_element(w, w + count) - low) / 255;
  for (int64_t i = 0; i < count; ++i) w[i] = std::round((w[i] - low) / step) * step + low;
}

void F16(float* w, int64_t count) {
  for (int64_t i = 0; i < count; ++i) w[i] = HalfToFloat(FloatToHalf(w[i]));
}

void Int4(float* w, int64_t count) {
  float largest = 0;
  for (int64_t i = 0; i < count; ++i) largest = std::max(largest, std::fabs(w[i]));
  for (int64_t i = 0; i < count; ++i) w[i] = std::nearbyint(w[i] / (largest / 7)) * (largest / 7);
}

// Of a step that is kept in f16 when the weights are rounded already, as OpenVINO does.
void KeptInHalf(float* w, int64_t count) {
  float extreme = 0;
  for (int64_t i = 0; i < count; ++i) extreme = std::fabs(w[i]) > std::fabs(extreme) ? w[i] : extreme;
  const float step = extreme / -128, kept = HalfToFloat(FloatToHalf(step));
  for (int64_t i = 0; i < count; ++i) w[i] = std::min(std::max(std::nearbyint(w[i] / step), -128.f), 127.f) * kept;
}

void ZeroPointKeptInHalf(float* w, int64_t count) {
  const float low = std::min(*std::min_element(w, w + count), 0.f), high = *std::max_element(w, w + count);
  const float step = (high - low) / 255, zero = std::nearbyint(-low / step), kept = HalfToFloat(FloatToHalf(step));
  for (int64_t i = 0; i < count; ++i)
    w[i] = (std::min(std::max(std::nearbyint(w[i] / step + zero), 0.f), 255.f) - zero) * kept;
}

struct Runtime {
  std::map<int, Round> weights;                     // by convolution
  std::function<void(Tensor* input)> operand = {};  // of every convolution
  std::function<float(float)> last = {};            // of the graph's last layer
  bool folds = false;                               // norms into the weights before they are rounded

  // The layers summed exactly and rounded to f32.
  Stored Run(const Graph& graph) const {
    const BlobTable infos = InferShapes(graph).value();
    Stored subject;
    subject.blobs["x"] = Gauss(graph.inputs[0].shape);
    int convolution = -1;
    for (size_t i = 0; i < graph.layers.size(); ++i) {
      Layer layer = graph.layers[i];
      Tensor input = subject.blobs.at(layer.inputs[0]).Clone().value();
      Tensor out = Tensor::Create(DType::kF32, infos.at(layer.outputs[0]).shape).value();
      const bool convolves = layer.kind == OpKind::kConvolution;
      convolution += convolves;
      const auto round = weights.find(convolution);
      if (convolves && round != weights.end()) {
        const Tensor* norm = folds ? graph.layers[i + 1].Resource("scale") : nullptr;
        layer.resources["weight"] = Rounded(layer.resources.at("weight"), norm, round->second);
        if (operand) operand(&input);
      }
      if (last && i + 1 == graph.layers.size()) {
        for (int64_t k = 0; k < out.NumElements(); ++k) out.data<float>()[k] = last(input.data<float>()[k]);
      } else {
        ReferenceArgs args{layer, {&input}, {&out}};
        EXPECT_TRUE(GetReferenceOp(layer.kind).run(args).ok());
      }
      subject.blobs[layer.outputs[0]] = out;
    }
    for (const char* inside : {"product", "c1", "c2", "c3", "c4", "c5", "c6"}) subject.blobs.erase(inside);
    return subject;
  }

  static Tensor Rounded(const Tensor& weight, const Tensor* norm, const Round& round) {
    Tensor rounded = weight.Clone().value();
    const int64_t taps = weight.NumElements() / kChannels;
    for (int64_t o = 0; o < kChannels; ++o) {
      float* w = rounded.data<float>() + o * taps;
      const float scale = norm == nullptr ? 1 : norm->data<float>()[o];
      for (int64_t i = 0; i < taps; ++i) w[i] *= scale;
      round(w, taps);
      for (int64_t i = 0; i < taps; ++i) w[i] /= scale;
    }
    return rounded;
  }
};

Runtime All(const Round& round) {
  Runtime runtime;
  for (int i = 0; i < kLayers; ++i) runtime.weights[i] = round;
  return runtime;
}

RunReport Find(const Graph& graph, const Stored& subject, bool may_be_half = false) {
  SubjectOptions options;
  options.check.find_products = true;
  options.check.may_be_half = may_be_half;
  return CheckSubjectBlobs(graph, subject, {}, options).value();
}

std::string Failures(const RunReport& run) {
  std::string text;
  for (const LayerReport& layer : run.layers) {
    if (layer.verdict != Verdict::kAligned) text += layer.step.name + ": " + layer.reason + "\n";
  }
  return text;
}

// 1x1 convolutions, which XNNPACK computes as matrix products: the channels at a place of an image are a row.
Graph Pointwise() {
  Graph graph = Chain();
  for (Layer& layer : graph.layers) {
    auto param = std::make_shared<ConvolutionParam>(ParamOf<ConvolutionParam>(layer));
    param->kernel_h = param->kernel_w = 1, param->pad_h = param->pad_w = 0;
    layer.param = param;
    layer.resources["weight"] = Gauss({kChannels, kChannels, 1, 1}, 1 / 5.0, 0.002 * (layer.index + 1));
  }
  return graph;
}

// Of each place its channels, to 255 steps with a zero point.
void RowsOfPixels(Tensor* input) {
  const int64_t places = kSize * kSize;
  for (int64_t place = 0; place < places; ++place) {
    float low = 0, high = 0;
    const auto at = [&](int64_t c) -> float& { return input->data<float>()[c * places + place]; };
    for (int64_t c = 0; c < kChannels; ++c) low = std::min(low, at(c)), high = std::max(high, at(c));
    const float step = (high - low) / 255, zero = std::nearbyint(-128 - low / step);
    for (int64_t c = 0; c < kChannels; ++c)
      at(c) = (std::min(std::max(std::nearbyint(at(c) / step) + zero, -128.f), 127.f) - zero) * step;
  }
}

TEST(NarrowProducts, RowsOfPixelsAreFound) {
  const Graph graph = Pointwise();
  Runtime runtime = All([](float*, int64_t) {});
  runtime.operand = [](Tensor* input) { RowsOfPixels(input); };
  const RunReport run = Find(graph, runtime.Run(graph));
  EXPECT_EQ(run.verdict, Verdict::kAligned) << Failures(run);
  EXPECT_NE(run.found_because.find("its input rounded to int8 with a zero point as the network runs"),
            std::string::npos)
      << run.found_because;
}

// One of the layers has another zero point: it is wrong, and no other.
TEST(NarrowProducts, ARowsZeroPointThatIsOffStaysWrong) {
  const Graph graph = Pointwise();
  Runtime runtime = All([](float*, int64_t) {});
  int convolution = 0;
  runtime.operand = [&](Tensor* input) {
    const bool faulty = convolution++ == 3;
    RowsOfPixels(input);
    for (int64_t i = 0; faulty && i < input->NumElements(); ++i) input->data<float>()[i] += 0.01f;
  };
  const RunReport run = Find(graph, runtime.Run(graph));
  EXPECT_EQ(run.first_wrong, 3);
  EXPECT_EQ(run.Count(Verdict::kWrong), 1) << Failures(run);
}

TEST(NarrowProducts, WeightsAreFound) {
  const struct {
    Round round;
    const char* words;
  } cases[] = {{Int8, "weights rounded to int8"},
               {WithOffset, "weights rounded to int8 with an offset"},
               {Int4, "weights rounded to int4"},
               {KeptInHalf, "weights rounded to int8 of -128 to 127"},
               {ZeroPointKeptInHalf, "weights rounded to int8 with a zero point"},
               {F16, "weights rounded to f16"}};
  const Graph graph = Chain();
  for (const auto& c : cases) {
    const RunReport run = Find(graph, All(c.round).Run(graph));
    EXPECT_EQ(run.Count(Verdict::kAligned), kLayers) << Failures(run);
    EXPECT_EQ(run.found_arithmetic, SubjectArithmetic::kNarrowProducts);
    EXPECT_EQ(
        run.found_because,
        std::string("6 of 6 layers that are beyond fp32 are not beyond products of fewer bits: 6 of 6 Convolution "
                    "with ") +
            c.words);
  }
}

// MNN gives a channel whose steps would be below 1e-6 its smallest weight everywhere.
TEST(NarrowProducts, DeadChannelsHaveOneWeight) {
  Graph graph = Chain();
  for (Layer& layer : graph.layers) {
    for (int64_t i = 0; i < kTaps; ++i) {
      layer.resources["weight"].data<float>()[2 * kTaps + i] *= 1e-4f;
      layer.resources["weight"].data<float>()[5 * kTaps + i] *= 1e-9f;
    }
  }
  const auto round = [](float* w, int64_t count) {
    const float low = *std::min_element(w, w + count);
    if ((*std::max_element(w, w + count) - low) / 255 < 1e-6f)
      std::fill_n(w, count, low);
    else
      WithOffset(w, count);
  };
  const RunReport run = Find(graph, All(round).Run(graph));
  EXPECT_EQ(run.Count(Verdict::kAligned), kLayers) << Failures(run);
}

TEST(NarrowProducts, SeveralInOneStepAreFoundTogether) {
  const Graph graph = Chain();
  Stored subject = All(WithOffset).Run(graph);
  subject.blobs.erase(Blob(3));
  subject.blobs.erase(Blob(5));
  const RunReport run = Find(graph, subject);
  EXPECT_EQ(run.Count(Verdict::kAligned), kLayers - 2) << Failures(run);
  EXPECT_EQ(run.found_arithmetic, SubjectArithmetic::kNarrowProducts);
}

TEST(NarrowProducts, NormsAreFoldedBefore) {
  const Graph graph = Chain(true);
  for (const Round& round : {Round(Int8), Round(WithOffset), Round(F16)}) {
    Runtime runtime = All(round);
    runtime.folds = true;
    const RunReport run = Find(graph, runtime.Run(graph));
    EXPECT_EQ(run.Count(Verdict::kAligned), kLayers) << Failures(run);
    EXPECT_EQ(run.found_arithmetic, SubjectArithmetic::kNarrowProducts);
  }
}

// Per tensor, to 127 steps of its largest element.
TEST(NarrowProducts, OperandsRoundedAsTheNetworkRunsAreFound) {
  const Graph graph = Chain();
  Runtime runtime = All(Int8);
  runtime.operand = [](Tensor* input) { Int8(input->data<float>(), input->NumElements()); };
  const RunReport run = Find(graph, runtime.Run(graph));
  EXPECT_EQ(run.Count(Verdict::kAligned), kLayers) << Failures(run);
  EXPECT_NE(run.found_because.find("weights rounded to int8 and its input rounded to int8"), std::string::npos)
      << run.found_because;
}

// A table of embeddings.
TEST(NarrowProducts, RowsThatAreLookedUpAreNamed) {
  Graph graph = GraphOf({LayerOf<GatherParam>(OpKind::kGather,
                                              [](GatherParam* p) {
                                                p->axis = 0;
                                                p->data_in_resource = true, p->indices_in_resource = false;
                                              })},
                        {5});
  graph.inputs[0].dtype = DType::kI64;
  Tensor table = Gauss({12, 32}), x = Tensor::Create(DType::kI64, {5}).value();
  for (int64_t i = 0; i < 5; ++i) x.data<int64_t>()[i] = 2 * i + 1;
  graph.layers[0].resources["data"] = table;
  Graph runtime = graph;
  Tensor rounded = table.Clone().value();
  for (int64_t row = 0; row < 12; ++row) Int8(rounded.data<float>() + row * 32, 32);
  runtime.layers[0].resources["data"] = rounded;
  ExpectNamed(Judge(graph, x, ComputedBy(runtime, x)),
              "computed with weights rounded to int8 per output channel; the graph says f32");
}

TEST(NarrowProducts, OneAsTheGraphSaysIsNoFault) {
  const Graph graph = Chain();
  Runtime runtime = All(Int8);
  runtime.weights.erase(2);
  const RunReport run = Find(graph, runtime.Run(graph));
  EXPECT_EQ(run.Count(Verdict::kAligned), kLayers) << Failures(run);
  EXPECT_NE(run.found_because.find("5 of 6 Convolution"), std::string::npos) << run.found_because;
}

TEST(NarrowProducts, OneUnlikeTheOthersIsWrong) {
  const Graph graph = Chain();
  Runtime runtime = All(Int8);
  runtime.weights[3] = Int4;
  const RunReport narrower = Find(graph, runtime.Run(graph));
  EXPECT_EQ(narrower.first_wrong, 3);
  EXPECT_EQ(narrower.Count(Verdict::kWrong), 1) << Failures(narrower);
  EXPECT_EQ(narrower.layers[3].cause, "computed with weights rounded to int4 per output channel; the graph says f32");
  runtime.weights[3] = [](float* w, int64_t count) {
    Int8(w, count);
    for (int64_t i = 0; i < count; ++i) w[i] *= 1.001f;
  };
  const RunReport gain = Find(graph, runtime.Run(graph));
  EXPECT_EQ(gain.first_wrong, 3);
  EXPECT_EQ(gain.Count(Verdict::kWrong), 1) << Failures(gain);
}

TEST(NarrowProducts, TwoOfSixAreFaults) {
  const Graph graph = Chain();
  Runtime runtime;
  runtime.weights = {{1, Int8}, {4, Int8}};
  const RunReport run = Find(graph, runtime.Run(graph));
  EXPECT_EQ(run.found_arithmetic, SubjectArithmetic::kFp32);
  EXPECT_EQ(run.Count(Verdict::kWrong), 2);
  EXPECT_EQ(run.layers[1].cause, "computed with weights rounded to int8 per output channel; the graph says f32");
}

// A dump that says so (ncnn's use_fp16_storage) needs no others like it; int8 is another thing.
TEST(NarrowProducts, SixteenBitsMayBeSaid) {
  const Graph graph = Chain();
  Runtime runtime;
  runtime.weights = {{1, F16}};
  const Stored subject = runtime.Run(graph);
  EXPECT_EQ(Find(graph, subject).first_wrong, 1);
  const RunReport said = Find(graph, subject, true);
  EXPECT_EQ(said.Count(Verdict::kAligned), kLayers) << Failures(said);
  EXPECT_EQ(said.found_arithmetic, SubjectArithmetic::kNarrowProducts);
  runtime.weights = {{1, Int8}};
  EXPECT_EQ(Find(graph, runtime.Run(graph), true).first_wrong, 1);
}

TEST(NarrowProducts, DeclaredOnesNeedNoOthers) {
  const Graph graph = Chain();
  Runtime runtime;
  runtime.weights = {{1, Int8}};
  SubjectOptions options;
  options.check.arithmetic = SubjectArithmetic::kNarrowProducts;
  const RunReport run = CheckSubjectBlobs(graph, runtime.Run(graph), {}, options).value();
  EXPECT_EQ(run.Count(Verdict::kAligned), kLayers) << Failures(run);
}

// A device's convolution with weights of 16 bits, but for conv4, which is wrong in a way that nothing explains.
class NarrowConvolution : public Kernel {
 public:
  explicit NarrowConvolution(const Layer& layer) : layer_(layer) {}
  Status Run(const std::vector<DeviceTensor>& in, const std::vector<DeviceTensor>& out) override {
    const bool strange = layer_.name == "conv4";
    Layer narrow = layer_;
    PLUMB_ASSIGN_OR_RETURN(Tensor weight, layer_.resources.at("weight").Clone());
    if (!strange) F16(weight.data<float>(), weight.NumElements());
    narrow.resources["weight"] = weight;
    PLUMB_ASSIGN_OR_RETURN(Tensor x, Tensor::Create(DType::kF32, in[0].shape));
    PLUMB_ASSIGN_OR_RETURN(Tensor y, Tensor::Create(DType::kF32, out[0].shape));
    std::memcpy(x.raw(), in[0].host<float>(), x.bytes());
    ReferenceArgs args{narrow, {&x}, {&y}};
    PLUMB_RETURN_IF_ERROR(GetReferenceOp(narrow.kind).run(args));
    for (int64_t i = 0; strange && i < y.NumElements(); ++i)
      y.data<float>()[i] += 0.05f * std::sin(static_cast<float>(i * i % 1009));
    std::memcpy(out[0].host<float>(), y.raw(), y.bytes());
    return Status::Ok();
  }

 private:
  const Layer layer_;
};

// What it wrote is gone at the end: no step is looked at again, whichever steps were asked for.
TEST(NarrowProducts, DeclaredOnADevice) {
  for (const std::vector<std::string>& asked : {std::vector<std::string>(), {"conv4", "conv5"}}) {
    const std::shared_ptr<Device> device = OpenDevice("NAIVE").value();
    device->kernels_in_front = {
        {"narrow", OpKind::kConvolution, RequireSingle, [](const KernelSpec& spec) -> std::unique_ptr<Kernel> {
           return std::make_unique<NarrowConvolution>(spec.layer());
         }}};
    auto network = Network::Create(std::make_shared<Graph>(Chain()), device, {}).value();
    CheckOptions options;
    options.arithmetic = SubjectArithmetic::kNarrowProducts;
    options.layers = asked;
    Checker checker(options);
    const Tensor input = Gauss({1, kChannels, kSize, kSize});
    ASSERT_TRUE(checker.Attach(network.get(), {{"x", input}}).ok());
    ASSERT_TRUE(network->SetInput("x", input).ok());
    ASSERT_TRUE(network->Forward().ok());
    const RunReport run = checker.Finish().value();
    ASSERT_EQ(run.layers.size(), asked.empty() ? kLayers : asked.size());
    EXPECT_EQ(run.Count(Verdict::kWrong), 1) << Failures(run);
    EXPECT_EQ(run.layers[static_cast<size_t>(run.first_wrong)].step.name, "conv4");
  }
}

// What else was computed in such a layer is named beside it, also of the first one.
TEST(NarrowProducts, AnotherFunctionBehindThemIsNamed) {
  const Graph graph = Chain(false, OpKind::kGELU);
  Runtime runtime = All(Int8);
  runtime.last = [](float x) { return x / (1 + std::exp(-1.702f * x)); };
  const RunReport run = Find(graph, runtime.Run(graph));
  EXPECT_EQ(run.Count(Verdict::kAligned), kLayers - 1) << Failures(run);
  const LayerReport& last = run.layers.back();
  EXPECT_EQ(last.verdict, Verdict::kWrong);
  EXPECT_EQ(last.cause.find("computed with weights rounded to int8 per output channel and as x"), 0) << last.reason;
}

}  // namespace
}  // namespace plumb
