// SPDX-License-Identifier: Apache-2.0
// The CPU devices' Winograd kernels before the judge: no healthy form is called wrong, whatever the inputs; faults as a
// wrong tile, a wrong factor of the transformations or lost rests of tiles make them are.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <regex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "check/planted_fault.h"
#include "check/subject/paired_blobs.h"
#include "device/cpu/cpu_name.h"
#include "plumb/check.h"
#include "plumb/dump.h"
#include "plumb/plumb.h"
#include "util/network_builder.h"
#include "util/seeds.h"

namespace plumb {
namespace {

struct Form {
  const char* name;
  int kernel_h, kernel_w, in, out;
  int64_t size;
  int tile_h, tile_w;
  int stride = 1;
};

const Form kForms[] = {{"F4", 3, 3, 40, 48, 22, 4, 4},          {"F2", 3, 3, 40, 66, 13, 2, 2},
                       {"F2_made", 3, 3, 392, 388, 7, 2, 2},    {"F2_5", 5, 5, 24, 40, 14, 2, 2},
                       {"row3", 1, 3, 40, 48, 14, 1, 4},        {"column3", 3, 1, 40, 48, 14, 4, 1},
                       {"row7", 1, 7, 40, 48, 17, 1, 4},        {"column7", 7, 1, 40, 48, 17, 4, 1},
                       {"stride2_7", 7, 7, 4, 48, 45, 4, 4, 2}, {"stride2_5", 5, 5, 3, 40, 43, 4, 4, 2}};

std::ostream& operator<<(std::ostream& out, const Form& form) { return out << form.name; }

std::shared_ptr<const Graph> GraphOf(const Form& form) {
  Builder b(1, form.in, form.size);
  b.Simple("ReLU", {b.Conv("x", form.in, form.out, 1)});
  Layer& conv = b.graph->layers.front();
  auto param = std::make_shared<ConvolutionParam>(static_cast<const ConvolutionParam&>(*conv.param));
  param->kernel_h = form.kernel_h, param->kernel_w = form.kernel_w;
  param->stride_h = param->stride_w = form.stride;
  conv.param = param;
  const float fan_in = static_cast<float>(form.in * form.kernel_h * form.kernel_w);
  conv.resources["weight"] = Random({form.out, form.in, form.kernel_h, form.kernel_w}, 5, std::sqrt(6 / fan_in));
  return b.graph;
}

LayerReport Judge(const std::shared_ptr<const Graph>& graph, const Tensor& input, const PlantedFault* fault = nullptr) {
  const std::shared_ptr<Device> device = OpenDevice(kCpuDevice).value();
  if (fault != nullptr) Plant(*fault, *graph, device.get());
  auto network = Network::Create(graph, device, {}).value();
  Checker checker;
  EXPECT_TRUE(checker.Attach(network.get(), {{"x", input}}).ok());
  EXPECT_TRUE(network->SetInput("x", input).ok());
  const Status run = network->Forward();
  EXPECT_TRUE(run.ok()) << run.ToString();
  return checker.Finish().value().layers.at(0);
}

using Change = std::function<float(float value, int64_t channel, int64_t pixel)>;

Tensor Input(const Form& form, uint32_t seed, const Change& change) {
  Tensor input = Random({1, form.in, form.size, form.size}, seed, 1);
  const int64_t pixels = form.size * form.size;
  for (int64_t i = 0; i < input.NumElements(); ++i) {
    float& value = input.data<float>()[i];
    value = change(value, i / pixels, i % pixels);
  }
  return input;
}

class CpuWinograd : public testing::TestWithParam<Form> {};

TEST_P(CpuWinograd, IsNeverCalledWrong) {
  const Form& form = GetParam();
  const std::pair<const char*, Change> inputs[] = {
      {"uniform", [](float v, int64_t, int64_t) { return v; }},
      {"behind a ReLU", [](float v, int64_t, int64_t) { return v > 0.5f ? v : 0.0f; }},
      {"one hot pixel", [](float, int64_t c, int64_t p) { return c == 2 && p == 37 ? 100.0f : 0.0f; }},
      {"a large offset", [](float v, int64_t, int64_t) { return v + 1000; }},
      {"channels of many sizes", [](float v, int64_t c, int64_t) { return v * std::pow(10.0f, float(c % 7) - 3); }},
      {"near the smallest floats", [](float v, int64_t, int64_t) { return v * 1e-36f; }}};
  const auto graph = GraphOf(form);
  for (const auto& [name, change] : inputs) {
    for (uint32_t seed = 1; seed <= SeedsUnderTest(form.in > 100 ? 1 : 5); ++seed) {  // a large one takes its time
      const LayerReport layer = Judge(graph, Input(form, seed, change));
      EXPECT_EQ(layer.step.kernel, On("convolution_winograd"));
      EXPECT_EQ(layer.step.numerics.tile, std::max(form.tile_h, form.tile_w));
      EXPECT_EQ(layer.step.numerics.stride, form.stride);
      EXPECT_EQ(layer.verdict, Verdict::kAligned) << name << ", seed " << seed << ": " << layer.reason;
    }
  }
}

// Judged from a dump the layer is as aligned as it was on the device, because the manifest says its form.
TEST_P(CpuWinograd, IsJudgedByItsFormFromADump) {
  const Form& form = GetParam();
  const auto graph = GraphOf(form);
  const std::string folder = testing::TempDir() + "winograd_dump_" + form.name;
  std::filesystem::remove_all(folder);
  DumpOptions options;
  options.inputs = options.outputs = true;
  options.folder = folder;
  options.format = DumpOptions::Format::kRaw;
  const Tensor input =
      Input(form, 1, [](float v, int64_t c, int64_t) { return v * std::pow(10.0f, float(c % 7) - 3); });
  auto network = Network::Create(graph, OpenDevice(kCpuDevice).value(), {}).value();
  ASSERT_TRUE(AddDump(network.get(), options).ok());
  ASSERT_TRUE(network->SetInput("x", input).ok() && network->Forward().ok());

  const auto subject =
      PairedBlobs::Create(TensorSet::Open(folder).value(), *graph, network->blobs(), SurveyOptions()).value();
  const LayerReport layer = CheckSubjectBlobs(*graph, *subject, {}, SubjectOptions()).value().layers.at(0);
  EXPECT_EQ(layer.verdict, Verdict::kAligned) << layer.reason;
  EXPECT_EQ(layer.step.numerics.Name(), network->steps()[0]->numerics.Name());
  EXPECT_NE(layer.step.numerics.Name(), "");

  std::stringstream manifest;
  manifest << std::ifstream(folder + "/manifest.json").rdbuf();
  const std::string broken = std::regex_replace(manifest.str(), std::regex("\"tile\":[0-9]"), "\"tile\":400");
  std::ofstream(folder + "/manifest.json") << broken;
  const auto refused = TensorSet::Open(folder);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.status().message().find("'winograd'"), std::string::npos) << refused.status().message();
  std::filesystem::remove_all(folder);
}

TEST_P(CpuWinograd, FaultsInsideAreFound) {
  const Form& form = GetParam();
  const int64_t width = (form.size + form.stride - 1) / form.stride, plane = width * width;
  const auto each = [=](const std::function<void(float* value, int64_t y, int64_t x)>& f) {
    return [=](Tensor* out, const Tensor&) {
      for (int64_t i = 0; i < out->NumElements(); ++i) f(out->data<float>() + i, i % plane / width, i % width);
    };
  };
  const auto last = [form](int64_t y, int64_t x) {
    return y % form.tile_h == form.tile_h - 1 && x % form.tile_w == form.tile_w - 1;
  };
  const PlantedFault faults[] = {
      {"a wrong factor of the output's transformation", "layer0",
       each([=](float* v, int64_t y, int64_t x) { *v *= last(y, x) ? 1.01f : 1.0f; }), nullptr},
      {"a wrong factor of the input's", "layer0",
       each([=](float* v, int64_t y, int64_t x) { *v += last(y, x) ? 0.02f : -0.005f; }), nullptr},
      {"the rests of tiles lost", "layer0", each([=](float* v, int64_t y, int64_t x) {
         if (x >= width - 1 || y >= width - 1) *v = 0;
       }),
       nullptr},
      {"a tile of its neighbour", "layer0",
       [=](Tensor* out, const Tensor&) {
         for (int64_t y = 0; y < form.tile_h; ++y) {
           for (int64_t x = 0; x < form.tile_w; ++x) {
             float* at = out->data<float>() + 5 * plane + y * width + x;
             at[0] = at[form.tile_w > 1 ? form.tile_w : form.tile_h * width];
           }
         }
       },
       nullptr}};
  const auto graph = GraphOf(form);
  const Tensor input = Input(form, 1, [](float v, int64_t, int64_t) { return v; });
  for (const PlantedFault& fault : faults) {
    const LayerReport layer = Judge(graph, input, &fault);
    EXPECT_EQ(layer.verdict, Verdict::kWrong) << fault.name << ": " << layer.reason;
  }
}

INSTANTIATE_TEST_SUITE_P(All, CpuWinograd, testing::ValuesIn(kForms),
                         [](const auto& form) { return std::string(form.param.name); });

}  // namespace
}  // namespace plumb
