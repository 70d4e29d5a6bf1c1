// SPDX-License-Identifier: Apache-2.0
// A kernel that declares Winograd's algorithm is judged by the bound of that form, alone and in a fused group: healthy
// ones are aligned, and their faults are named. F(6x6,3x3) with points up to 3 loses so many digits that no other bound
// lets it pass.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "check/judge/judge.h"
#include "check/numbers/replay.h"
#include "check/numbers/stored_half.h"
#include "device/device.h"
#include "op/convolution.h"
#include "plumb/check.h"
#include "plumb/plumb.h"
#include "plumb/report.h"
#include "util/make_layer.h"
#include "util/winograd_emulation.h"

namespace plumb {
namespace {

const WinogradForm kComputed = {6, {0, 1, -1, 2, -2, 3, -3}};
Numerics declared;
float gain = 1;       // a fault: one weight times this
bool narrow = false;  // direct sums of operands rounded to bf16

Tensor Random(const Shape& shape, unsigned seed, float scale) {
  Tensor t = Tensor::Create(DType::kF32, shape).value();
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal;
  for (int64_t i = 0; i < t.NumElements(); ++i) t.data<float>()[i] = normal(engine) * scale;
  return t;
}

// x -> Convolution conv (3x3, 64 to 8 channels, pad 1) -> Add sum(conv, r) -> ReLU relu
std::shared_ptr<Graph> ConvGraph() {
  auto graph = std::make_shared<Graph>();
  graph->source = "conv";
  graph->inputs = {{"x", DType::kF32, {1, 64, 13, 11}}, {"r", DType::kF32, {1, 8, 13, 11}}};
  graph->outputs = {"z"};
  graph->layers = {MakeLayer(OpKind::kConvolution, "conv", {"x"}, {"y"}),
                   MakeLayer(OpKind::kAdd, "sum", {"y", "r"}, {"s"}), MakeLayer(OpKind::kReLU, "relu", {"s"}, {"z"})};
  for (size_t i = 0; i < graph->layers.size(); ++i) graph->layers[i].index = static_cast<int>(i);
  auto param = std::make_shared<ConvolutionParam>();
  param->group = 1;
  param->in_channels_per_group = 64;
  param->out_channels = 8;
  param->kernel_h = param->kernel_w = 3;
  param->stride_h = param->stride_w = param->dilation_h = param->dilation_w = 1;
  param->pad_h = param->pad_w = 1;
  param->pad_type = -1;
  graph->layers[0].param = param;
  graph->layers[0].resources["weight"] = Random({8, 64, 3, 3}, 1, 1 / 24.f);
  return graph;
}

std::vector<float> ConvolveNarrow(const Tensor& weight, const float* x) {
  const auto graph = ConvGraph();
  Tensor input = Tensor::Create(DType::kF32, {1, 64, 13, 11}).value();
  std::copy_n(x, input.NumElements(), input.data<float>());
  input = RoundedTo(DType::kBF16, input).value();
  graph->layers[0].resources["weight"] = RoundedTo(DType::kBF16, weight).value();
  Tensor output = Tensor::Create(DType::kF32, {1, 8, 13, 11}).value();
  EXPECT_TRUE(GetReferenceOp(OpKind::kConvolution).run({graph->layers[0], {&input}, {&output}}).ok());
  return {output.data<float>(), output.data<float>() + output.NumElements()};
}

std::vector<float> Convolve(const Tensor& weight, const float* x) {
  Tensor spoiled = weight.Clone().value();
  spoiled.data<float>()[7] *= gain;
  if (narrow) return ConvolveNarrow(spoiled, x);
  return EmulateWinograd(kComputed, {64, 8, 13, 11, 13, 11, 1}, x, spoiled.data<float>());
}

class WinogradKernel : public Kernel {
 public:
  Status Prepare(const KernelSpec& spec, const std::vector<DeviceTensor>&, const std::vector<DeviceTensor>&) override {
    weight_ = *spec.layer().Resource("weight");
    return Status::Ok();
  }
  Status Run(const std::vector<DeviceTensor>& in, const std::vector<DeviceTensor>& out) override {
    const std::vector<float> y = Convolve(weight_, in[0].host<float>());
    std::copy(y.begin(), y.end(), out[0].host<float>());
    return Status::Ok();
  }
  Numerics DeclaredNumerics() const override { return declared; }

 private:
  Tensor weight_;
};

Numerics Declared(const WinogradForm& form) {
  return form.m == 0 ? Numerics() : Numerics::Winograd(form.m, form.points);
}

RunReport CheckDeclared(const Numerics& numerics, float fault, float pixel) {
  declared = numerics;
  gain = fault;
  const std::shared_ptr<Device> device = OpenDevice("NAIVE").value();
  device->kernels_in_front = {
      {"winograd", OpKind::kConvolution, RequireSingle,
       [](const KernelSpec&) -> std::unique_ptr<Kernel> { return std::make_unique<WinogradKernel>(); }}};
  auto network = Network::Create(ConvGraph(), device, {}).value();
  std::map<std::string, Tensor> inputs = {{"x", Random({1, 64, 13, 11}, 2, 1)}, {"r", Random({1, 8, 13, 11}, 3, 1)}};
  if (pixel != 0) inputs.at("x").data<float>()[40] = pixel;
  Checker checker;
  EXPECT_TRUE(checker.Attach(network.get(), inputs).ok());
  for (const auto& [name, value] : inputs) EXPECT_TRUE(network->SetInput(name, value).ok());
  EXPECT_TRUE(network->Forward().ok());
  return checker.Finish().value();
}

RunReport Check(const WinogradForm& form, float fault = 1, float pixel = 0) {
  return CheckDeclared(Declared(form), fault, pixel);
}

// Whatever a kernel declares is used.
TEST(DeclaredNumerics, OperandsAndAccumulatorsOfFewBits) {
  narrow = true;
  Numerics numerics;
  EXPECT_EQ(CheckDeclared(numerics, 1, 0).layers[0].verdict, Verdict::kWrong) << "undeclared";
  numerics.storage = DType::kBF16;
  const RunReport declared_storage = CheckDeclared(numerics, 1, 0);
  EXPECT_EQ(declared_storage.verdict, Verdict::kAligned) << declared_storage.layers[0].reason;
  EXPECT_EQ(declared_storage.layers[0].step.detail, "operands in bf16");
  EXPECT_EQ(CheckDeclared(numerics, 1.05f, 0).layers[0].verdict, Verdict::kWrong);
  numerics.storage = DType::kF32;
  numerics.accumulator = DType::kBF16;
  EXPECT_EQ(CheckDeclared(numerics, 1, 0).layers[0].verdict, Verdict::kAligned)
      << "far below the rounding of sums in bf16";
  narrow = false;
}

TEST(DeclaredWinograd, IsJudgedByItsOwnForm) {
  const RunReport report = Check(kComputed);
  EXPECT_EQ(report.verdict, Verdict::kAligned) << report.layers[0].reason;
  EXPECT_EQ(report.layers[0].step.detail, "winograd F(6x6,3x3) points 0 1 -1 2 -2 3 -3");
  EXPECT_EQ(Check({}).layers[0].verdict, Verdict::kWrong) << "undeclared";
  EXPECT_EQ(Check({2, {0, 1, -1}}).layers[0].verdict, Verdict::kWrong) << "declared with smaller tiles";
}

TEST(DeclaredWinograd, FaultsAreNamed) {
  const RunReport report = Check(kComputed, 1.05f);
  ASSERT_EQ(report.first_wrong, 0);
  EXPECT_EQ(report.layers[0].step.name, "conv");
  EXPECT_EQ(report.Count(Verdict::kWrong), 1);
}

// They reach the whole tile and nothing else: no fault of this layer.
TEST(DeclaredWinograd, ANaNOrInfinityInTheInputIsNoFault) {
  for (const float pixel : {NAN, INFINITY}) {
    EXPECT_EQ(Check(kComputed, 1, pixel).layers[0].verdict, Verdict::kAligned) << pixel;
    EXPECT_EQ(Check(kComputed, 1.05f, pixel).layers[0].verdict, Verdict::kWrong) << pixel;
    EXPECT_EQ(Check({}, 1, pixel).layers[0].verdict, Verdict::kWrong) << pixel << ", undeclared";
  }
}

TEST(DeclaredWinograd, AFormThatCannotBeBoundedIsNotTested) {
  const RunReport report = Check({9, {0}});
  EXPECT_EQ(report.layers[0].verdict, Verdict::kNotTested);
  EXPECT_NE(report.layers[0].reason.find("at most 9 points"), std::string::npos) << report.layers[0].reason;
}

// Conv + Add + ReLU as one step: the bound is chained.
TEST(DeclaredWinograd, CarriesThroughAFusedGroup) {
  const auto graph = ConvGraph();
  const BlobTable blobs = InferShapes(*graph).value();
  LayerGroup group;
  for (const Layer& layer : graph->layers) group.members.push_back(&layer);
  group.inputs = {{0, 0, "x"}, {1, 1, "r"}};
  group.outputs = {{2, 0, "z"}};
  const Tensor x = Random({1, 64, 13, 11}, 2, 1), r = Random({1, 8, 13, 11}, 3, 1);
  const std::vector<Tensor> inputs = {x.ConvertedTo(DType::kF64).value(), r.ConvertedTo(DType::kF64).value()};
  const auto verdict = [&](const WinogradForm& form, float fault) {
    gain = fault;
    const std::vector<float> y = Convolve(graph->layers[0].resources.at("weight"), x.data<float>());
    Tensor got = Tensor::Create(DType::kF32, r.shape()).value();
    for (size_t i = 0; i < y.size(); ++i) got.data<float>()[i] = std::max(0.f, y[i] + r.data<float>()[i]);
    Arithmetic arithmetic;
    arithmetic.products = Declared(form);
    const ReplayResult replay = ReplayWithBound(group, inputs, blobs, arithmetic, MaxBoundLevel(group)).value();
    OutputReport report;
    report.dtype = DType::kF32;
    report.shape = got.shape();
    Judge({got, replay.values[0], replay.tau[0]}, &report);
    return report.verdict;
  };
  EXPECT_EQ(verdict(kComputed, 1), Verdict::kAligned);
  EXPECT_EQ(verdict({}, 1), Verdict::kWrong);
  EXPECT_EQ(verdict(kComputed, 1.05f), Verdict::kWrong);
}

}  // namespace
}  // namespace plumb
