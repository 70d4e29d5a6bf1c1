// SPDX-License-Identifier: Apache-2.0
// Every planted fault is found and named, with five seeds (PLUMB_TEST_SEEDS); healthy networks raise no alarm. Prints
// the separation between the largest E and R of healthy layers and the smallest of faults.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "base/half.h"
#include "check/planted_fault.h"
#include "graph/random_inputs.h"
#include "op/convolution.h"
#include "op/norm.h"
#include "op/pooling.h"
#include "op/softmax.h"
#include "plumb/check.h"
#include "plumb/model.h"
#include "plumb/plumb.h"
#include "util/seeds.h"

namespace plumb {
namespace {

const uint32_t kSeeds = SeedsUnderTest(5);
const char* const kModel = PLUMB_TEST_DATA "/faults/faults.tnnproto";

using Spoil = std::function<void(Tensor*, const Tensor&)>;

Spoil Each(float (*f)(float)) {
  return [f](Tensor* out, const Tensor&) {
    for (int64_t i = 0; i < out->NumElements(); ++i) out->data<float>()[i] = f(out->data<float>()[i]);
  };
}

void ZeroChannel(Tensor* out, int64_t channel) {
  const int64_t plane = out->shape().CountFrom(2);
  std::fill_n(out->data<float>() + channel * plane, plane, 0.f);
}

// The pixel in the corner of every channel keeps its neighbour's value.
void LoseCorner(Tensor* out, const Tensor&) {
  const int64_t plane = out->shape().CountFrom(2);
  for (int64_t c = 0; c < out->shape()[1]; ++c)
    out->data<float>()[(c + 1) * plane - 1] = out->data<float>()[(c + 1) * plane - 2];
}

void ScaleLastColumn(Tensor* out, const Tensor&) {
  const int64_t width = out->shape()[3];
  for (int64_t i = width - 1; i < out->NumElements(); i += width) out->data<float>()[i] *= 1.01f;
}

void SwapTwoChannels(Tensor* out, const Tensor&) {
  const int64_t plane = out->shape().CountFrom(2);
  std::swap_ranges(out->data<float>(), out->data<float>() + plane, out->data<float>() + plane);
}

void ShiftByOnePixel(Tensor* out, const Tensor&) {
  std::rotate(out->data<float>(), out->data<float>() + 1, out->data<float>() + out->NumElements());
}

std::function<void(Layer*)> Weights(void (*f)(Tensor* weight)) {
  return [f](Layer* layer) { f(&layer->resources["weight"]); };
}

void RoundToHalf(Tensor* w) {
  for (int64_t i = 0; i < w->NumElements(); ++i) w->data<float>()[i] = HalfToFloat(FloatToHalf(w->data<float>()[i]));
}

void RoundToBFloat16(Tensor* w) {
  for (int64_t i = 0; i < w->NumElements(); ++i)
    w->data<float>()[i] = BFloat16ToFloat(FloatToBFloat16(w->data<float>()[i]));
}

void TransposeKernels(Tensor* w) {
  const int64_t h = w->shape()[2], v = w->shape()[3];
  for (int64_t k = 0; k < w->NumElements(); k += h * v) {
    float* kernel = w->data<float>() + k;
    for (int64_t i = 0; i < h; ++i) {
      for (int64_t j = 0; j < i; ++j) std::swap(kernel[i * v + j], kernel[j * v + i]);
    }
  }
}

void DropLastInputChannel(Tensor* w) {
  const int64_t channels = w->shape()[1], plane = w->shape().CountFrom(2);
  for (int64_t o = 0; o < w->shape()[0]; ++o)
    std::fill_n(w->data<float>() + ((o + 1) * channels - 1) * plane, plane, 0.f);
}

void ZeroTheLargestWeight(Tensor* w) {
  float* data = w->data<float>();
  *std::max_element(data, data + w->NumElements(), [](float a, float b) { return std::fabs(a) < std::fabs(b); }) = 0;
}

void RotateBias(Layer* layer) {
  Tensor& bias = layer->resources["bias"];
  std::rotate(bias.data<float>(), bias.data<float>() + 1, bias.data<float>() + bias.NumElements());
}

template <class P>
P& Param(Layer* layer) {
  return static_cast<P&>(*layer->param);
}

void ScaleLargest(Tensor* out, const Tensor&) {
  *std::max_element(out->data<float>(), out->data<float>() + out->NumElements()) *= 1.01f;
}

std::vector<PlantedFault> Faults() {
  const auto zeros = Each([](float) { return 0.f; });
  const auto half = Each([](float y) { return HalfToFloat(FloatToHalf(y)); });
  const auto gain = Each([](float y) { return y * 1.001f; });
  const auto stale = [](Tensor* out, const Tensor& before) {
    std::copy_n(before.data<float>(), out->NumElements(), out->data<float>());
  };
  const auto one = [](float value) {
    return [value](Tensor* out, const Tensor&) { out->data<float>()[out->NumElements() / 2] = value; };
  };
  // clang-format off
  std::vector<PlantedFault> faults = {
      {"all zeros", "conv1", zeros, {}},
      {"all zeros", "join", zeros, {}},
      {"one NaN", "depthwise", one(NAN), {}},
      {"one infinity", "tanh", one(INFINITY), {}},
      {"times two", "pointwise", Each([](float y) { return y * 2; }), {}},
      {"times 1.001", "dilated", gain, {}},
      {"times 1.001", "average", gain, {}},
      {"times 1.001", "fc", gain, {}},
      {"times 1.001", "exp", gain, {}},
      {"output in fp16", "wide", half, {}},
      {"output in fp16", "swish", half, {}},
      {"output in fp16", "max", half, {}},
      {"dropped last channel", "left", [](Tensor* out, const Tensor&) { ZeroChannel(out, out->shape()[1] - 1); }, {}},
      {"missing border pixel", "conv1", LoseCorner, {}},
      {"missing border pixel", "average", LoseCorner, {}},
      {"last column off by 1 %", "wide", ScaleLastColumn, {}},
      {"stale buffer", "right", stale, {}},
      {"stale buffer", "max", stale, {}},
      {"two channels swapped", "join", SwapTwoChannels, {}},
      {"shifted by one pixel", "depthwise", ShiftByOnePixel, {}},
      {"one value off by 1 %", "global", ScaleLargest, {}},
      {"weights in fp16", "dilated", {}, Weights(RoundToHalf)},
      {"weights in fp16", "fc", {}, Weights(RoundToHalf)},
      {"weights in bf16", "pointwise", {}, Weights(RoundToBFloat16)},
      {"transposed weight", "wide", {}, Weights(TransposeKernels)},
      {"dropped input channel", "right", {}, Weights(DropLastInputChannel)},
      {"one weight zeroed", "pointwise", {}, Weights(ZeroTheLargestWeight)},
      {"no bias", "left", {}, [](Layer* l) { l->resources.erase("bias"); Param<ConvolutionParam>(l).bias = false; }},
      {"bias of the next channel", "conv1", {}, RotateBias},
      {"swapped stride", "conv1", {}, [](Layer* l) {
         auto& p = Param<ConvolutionParam>(l);
         std::swap(p.stride_h, p.stride_w);
       }},
      {"one dilation for both axes", "dilated", {}, [](Layer* l) {
         auto& p = Param<ConvolutionParam>(l);
         p.dilation_w = p.pad_w = 1;
       }},
      {"activation left out", "right", {}, [](Layer* l) { Param<ConvolutionParam>(l).activation = kActivationNone; }},
      {"average for maximum", "max", {}, [](Layer* l) { Param<PoolingParam>(l).pool_type = kPoolAverage; }},
      {"window shifted by its pad", "max", {}, [](Layer* l) {
         auto& p = Param<PoolingParam>(l);
         p.pad_h = p.pad_w = 0;
         p.ceil_mode = true;
         p.kernel_h = p.kernel_w = 2;
       }},
      {"epsilon 1e-3 for 1e-5", "norm", {}, [](Layer* l) { Param<InstBatchNormParam>(l).eps = 1e-3f; }},
      {"times 1.001", "norm", gain, {}},
      {"wrong axis", "prob", {}, [](Layer* l) { Param<SoftmaxParam>(l).axis = 0; }},
  };
  // clang-format on
  return faults;
}

// With fp16 storage a fault below the rounding of the outputs is none (tolerance of f16: 8 u = 0.4 %): the finest
// faults of the list above give way to coarser ones.
std::vector<PlantedFault> CoarseFaults() {
  std::vector<PlantedFault> faults;
  for (PlantedFault& fault : Faults()) {
    bool fine = false;
    for (const char* name : {"times 1.001", "output in fp16", "weights in fp16", "weights in bf16",
                             "one value off by 1 %", "one weight zeroed", "epsilon 1e-3 for 1e-5"}) {
      fine = fine || fault.name == name;
    }
    if (!fine) faults.push_back(std::move(fault));
  }
  const auto gain = Each([](float y) { return y * 1.05f; });
  const auto six_bits = Each([](float y) {
    int exponent;
    const float fraction = std::frexp(y, &exponent);
    return std::ldexp(std::nearbyint(fraction * 64) / 64, exponent);
  });
  const auto int8 = [](Tensor* w) {
    float largest = 0;
    for (int64_t i = 0; i < w->NumElements(); ++i) largest = std::max(largest, std::fabs(w->data<float>()[i]));
    for (int64_t i = 0; i < w->NumElements(); ++i)
      w->data<float>()[i] = std::nearbyint(w->data<float>()[i] / largest * 127) * largest / 127;
  };
  for (const char* layer : {"dilated", "average", "fc", "exp", "norm"})
    faults.push_back({"times 1.05", layer, gain, {}});
  for (const char* layer : {"wide", "swish", "max"}) faults.push_back({"output in 6 bits", layer, six_bits, {}});
  for (const char* layer : {"dilated", "fc", "pointwise"})
    faults.push_back({"weights in int8", layer, {}, Weights(int8)});
  return faults;
}

// With sums in f16 what a few percent change is within the rounding to be expected.
std::vector<PlantedFault> GrossFaults() {
  std::vector<PlantedFault> faults = CoarseFaults();
  const auto is_fine = [](const PlantedFault& fault) {
    for (const char* name : {"last column off by 1 %", "times 1.05", "output in 6 bits", "weights in int8"}) {
      if (fault.name == name) return true;
    }
    return false;
  };
  faults.erase(std::remove_if(faults.begin(), faults.end(), is_fine), faults.end());
  return faults;
}

struct Extremes {
  double e = 0, r = 0;
};

RunReport Check(std::shared_ptr<const Graph> graph, const std::string& device_name, uint32_t seed,
                const PlantedFault* fault, Precision precision = Precision::kHigh) {
  std::shared_ptr<Device> device = OpenDevice(device_name).value();
  NetworkOptions options;
  options.precision = precision;
  if (fault != nullptr) Plant(*fault, *graph, device.get());
  auto network = Network::Create(graph, device, options);
  EXPECT_TRUE(network.ok()) << network.status().message();
  const GraphInput& input = graph->inputs[0];
  const Tensor value = RandomInput(input.name, input.dtype, input.shape, seed, {}).value();
  Checker checker;
  EXPECT_TRUE(checker.Attach(network->get(), {{input.name, value}}).ok());
  EXPECT_TRUE((*network)->SetInput(input.name, value).ok());
  EXPECT_TRUE((*network)->Forward().ok());
  return checker.Finish().value();
}

std::shared_ptr<const Graph> Load(const std::string& path, uint32_t seed) {
  LoadOptions options;
  options.seed = seed;
  return std::make_shared<const Graph>(LoadModel(path, options).value());
}

// PLUMB_TEST_DEVICE leaves the others out.
std::vector<std::string> DevicesUnderTest() {
  const char* only = std::getenv("PLUMB_TEST_DEVICE");
  std::vector<std::string> names;
  for (const DeviceInfo& info : ListDevices()) {
    if (info.present && (only == nullptr || info.name == std::string(only))) names.push_back(info.name);
  }
  return names;
}

std::string Describe(const RunReport& report) {
  std::string text;
  for (const LayerReport& layer : report.layers) {
    if (layer.verdict == Verdict::kAligned) continue;
    char numbers[64] = "";
    if (layer.Worst() != nullptr)
      std::snprintf(numbers, sizeof(numbers), " E %.3g R %.3g", layer.Worst()->excess, layer.Worst()->rms_excess);
    text += "\n  " + layer.step.name + ": " + VerdictName(layer.verdict) + numbers + " " + layer.reason;
  }
  return text;
}

TEST(PlantedFaults, HealthyNetworkRaisesNoAlarm) {
  for (const std::string& device : DevicesUnderTest()) {
    Extremes largest;
    for (uint32_t seed = 1; seed <= kSeeds; ++seed) {
      const RunReport report = Check(Load(kModel, seed), device, seed, nullptr);
      EXPECT_EQ(report.verdict, Verdict::kAligned) << device << " seed " << seed << Describe(report);
      EXPECT_EQ(report.Count(Verdict::kNotTested), 0) << device << Describe(report);
      for (const LayerReport& layer : report.layers) {
        largest.e = std::max(largest.e, layer.Worst()->excess);
        largest.r = std::max(largest.r, layer.Worst()->rms_excess);
      }
    }
    std::printf("%s healthy: largest E %.3g, largest R %.3g over %u seeds\n", device.c_str(), largest.e, largest.r,
                kSeeds);
  }
}

TEST(PlantedFaults, EachIsNamedAndNothingElse) {
  for (const std::string& device : DevicesUnderTest()) {
    Extremes all{INFINITY, INFINITY};
    for (const PlantedFault& fault : Faults()) {
      Extremes smallest{INFINITY, INFINITY};
      for (uint32_t seed = 1; seed <= kSeeds; ++seed) {
        const RunReport report = Check(Load(kModel, seed), device, seed, &fault);
        ASSERT_EQ(report.Count(Verdict::kWrong), 1)
            << device << ": " << fault.name << " in " << fault.layer << ", seed " << seed << Describe(report);
        const LayerReport& guilty = report.layers[static_cast<size_t>(report.first_wrong)];
        const auto& members = guilty.step.members;
        EXPECT_TRUE(
            std::any_of(members.begin(), members.end(), [&](const MemberInfo& m) { return m.name == fault.layer; }))
            << fault.name << " in " << fault.layer << " was blamed on " << guilty.step.name;
        smallest.e = std::min(smallest.e, guilty.Worst()->excess);
        smallest.r = std::min(smallest.r, guilty.Worst()->rms_excess);
      }
      std::printf("%-6s %-28s in %-10s smallest E %.3g, smallest R %.3g\n", device.c_str(), fault.name.c_str(),
                  fault.layer.c_str(), smallest.e, smallest.r);
      all.e = std::min(all.e, smallest.e);
      all.r = std::min(all.r, smallest.r);
    }
    std::printf("%s all faults: smallest E %.3g, smallest R %.3g\n", device.c_str(), all.e, all.r);
  }
}

// Devices that store fp16 when asked to, and whether they also compute in it.
std::vector<std::pair<std::string, Precision>> HalfDevices() {
  std::vector<std::pair<std::string, Precision>> devices;
  for (const std::string& name : DevicesUnderTest()) {
    for (const Precision precision : {Precision::kNormal, Precision::kLow}) {
      if (OpenDevice(name).value()->EffectivePrecision(precision) == precision) devices.emplace_back(name, precision);
    }
  }
  return devices;
}

TEST(PlantedFaults, HalfStorageRaisesNoAlarm) {
  for (const auto& [device, precision] : HalfDevices()) {
    SCOPED_TRACE(device + " " + PrecisionName(precision));
    for (uint32_t seed = 1; seed <= kSeeds; ++seed) {
      const RunReport report = Check(Load(kModel, seed), device, seed, nullptr, precision);
      EXPECT_EQ(report.verdict, Verdict::kAligned) << device << " seed " << seed << Describe(report);
      EXPECT_EQ(report.Count(Verdict::kNotTested), 0) << device << Describe(report);
    }
  }
}

TEST(PlantedFaults, EachCoarseOneIsNamedInHalfStorage) {
  for (const auto& [device, precision] : HalfDevices()) {
    SCOPED_TRACE(device + " " + PrecisionName(precision));
    const bool low = precision == Precision::kLow;
    const std::vector<PlantedFault> faults = low ? GrossFaults() : CoarseFaults();
    for (const PlantedFault& fault : faults) {
      for (uint32_t seed = 1; seed <= std::min(kSeeds, low ? 1u : 2u); ++seed) {
        const RunReport report = Check(Load(kModel, seed), device, seed, &fault, precision);
        ASSERT_EQ(report.Count(Verdict::kWrong), 1)
            << device << ": " << fault.name << " in " << fault.layer << ", seed " << seed << Describe(report);
        const auto& members = report.layers[static_cast<size_t>(report.first_wrong)].step.members;
        EXPECT_TRUE(
            std::any_of(members.begin(), members.end(), [&](const MemberInfo& m) { return m.name == fault.layer; }))
            << fault.name << " in " << fault.layer << " was blamed elsewhere";
      }
    }
    std::printf("%s %s: %zu coarse faults, each named\n", device.c_str(), PrecisionName(precision), faults.size());
  }
}

}  // namespace
}  // namespace plumb
