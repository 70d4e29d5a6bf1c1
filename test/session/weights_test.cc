// SPDX-License-Identifier: Apache-2.0
// DiffWeights: each thing that a conversion gets wrong is planted and named, and what it may do stays silent.
#include "plumb/weights.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

#include "base/half.h"
#include "session/session_test_util.h"

namespace plumb {
namespace {

Tensor Drawn(const Shape& shape, unsigned seed, float low = -1, float high = 1) {
  std::mt19937 engine(seed);
  Tensor tensor = Tensor::Create(DType::kF32, shape).value();
  for (int64_t i = 0; i < tensor.NumElements(); ++i)
    tensor.data<float>()[i] = low + (high - low) * static_cast<float>(engine() % 100000) / 100000;
  return tensor;
}

Tensor Turned(const Tensor& from, const std::vector<int>& axes, const Shape& shape) {
  Tensor to = Tensor::Create(DType::kF32, shape).value();
  const Shape& s = from.shape();
  int64_t at = 0;
  int64_t i[4];
  const auto dim = [&](int k) { return s[axes[static_cast<size_t>(k)]]; };
  for (i[0] = 0; i[0] < dim(0); ++i[0]) {
    for (i[1] = 0; i[1] < dim(1); ++i[1]) {
      for (i[2] = 0; i[2] < dim(2); ++i[2]) {
        for (i[3] = 0; i[3] < dim(3); ++i[3]) {
          int64_t source = 0;
          for (int k = 0; k < 4; ++k) source += i[k] * s.CountFrom(axes[static_cast<size_t>(k)] + 1);
          to.data<float>()[at++] = from.data<float>()[source];
        }
      }
    }
  }
  return to;
}

using Weights = std::map<std::string, Tensor>;

class WeightsTest : public ScratchFolder {
 protected:
  // A state dict: conv1 with a batch norm, conv2 and fc with biases.
  const Weights original_ = {{"conv1.weight", Drawn({4, 4, 3, 3}, 1)},
                             {"bn1.weight", Drawn({4}, 2, 0.5F, 1.5F)},
                             {"bn1.bias", Drawn({4}, 3)},
                             {"bn1.running_mean", Drawn({4}, 4)},
                             {"bn1.running_var", Drawn({4}, 5, 0.01F, 1)},
                             {"conv2.weight", Drawn({4, 4, 3, 3}, 6)},
                             {"conv2.bias", Drawn({4}, 7)},
                             {"fc.weight", Drawn({8, 64}, 8)},
                             {"fc.bias", Drawn({8}, 9)}};

  Tensor Scale(float epsilon) const {
    return Changed(original_.at("bn1.weight"), [&](float gamma, int64_t c) {
      return gamma / std::sqrt(original_.at("bn1.running_var").data<float>()[c] + epsilon);
    });
  }
  Tensor Shift(float epsilon) const {
    const Tensor scale = Scale(epsilon);
    return Changed(original_.at("bn1.bias"), [&](float beta, int64_t c) {
      return beta - original_.at("bn1.running_mean").data<float>()[c] * scale.data<float>()[c];
    });
  }
  // What a converter makes of it: the batch norm in conv1.
  Weights Folded(float epsilon = 1e-5F) const {
    Weights weights = {{"conv2.weight", original_.at("conv2.weight")},
                       {"conv2.bias", original_.at("conv2.bias")},
                       {"fc.weight", original_.at("fc.weight")},
                       {"fc.bias", original_.at("fc.bias")}};
    const Tensor scale = Scale(epsilon);
    weights["conv1.weight"] = Changed(original_.at("conv1.weight"),
                                      [&](float value, int64_t i) { return value * scale.data<float>()[i / 36]; });
    weights["conv1.bias"] = Shift(epsilon);
    return weights;
  }
  // As a model of ours; a layer without a bias where there is none. `prefix` stands in front of the layers' names.
  std::string Model(const std::string& name, const Weights& weights, const std::string& prefix = "") const {
    GraphBuilder builder;
    builder.Input("x", {1, 4, 4, 4});
    std::string blob = "x";
    for (const std::string layer : {"conv1", "conv2", "fc"}) {
      std::map<std::string, Tensor> resources;
      if (weights.count(layer + ".weight") > 0) resources["weight"] = weights.at(layer + ".weight");
      const bool bias = weights.count(layer + ".bias") > 0;
      if (bias) resources["bias"] = weights.at(layer + ".bias");
      const std::string output = prefix + layer;
      const std::string has = bias ? " has_bias" : "";
      if (layer == "fc") {
        builder.Add("InnerProduct", {blob}, {output}, "num_output=8 transpose=0 axis=1" + has, resources);
      } else {
        builder.Add("Convolution", {blob}, {output},
                    std::string("in_channels_per_group=4 out_channels=4 kernel=3x3 pad=1") + (bias ? " bias" : ""),
                    resources);
      }
      blob = output;
    }
    builder.Output(blob);
    const auto graph = builder.Build();
    EXPECT_TRUE(graph.ok()) << graph.status().message();
    EXPECT_TRUE(SaveModel(*graph, At(name)).ok());
    return At(name + ".tnnproto");
  }
  WeightsReport Diff(const Weights& converted, const std::string& prefix = "",
                     const WeightsOptions& options = {}) const {
    const auto report = DiffWeights(WriteNpz("original.npz", original_), Model("net", converted, prefix), options);
    EXPECT_TRUE(report.ok()) << report.status().message();
    return report.ok() ? *report : WeightsReport();
  }
  // The one cause that is said of this tensor.
  static std::string CauseOf(const WeightsReport& report, const std::string& name) {
    EXPECT_EQ(report.FirstDifferent() == nullptr ? "" : report.FirstDifferent()->original, name)
        << FormatWeightsText(report);
    for (const WeightsPair& pair : report.pairs) {
      if (pair.original == name) return pair.cause;
    }
    return "";
  }
};

TEST_F(WeightsTest, WhatAConversionFoldsIsTheOriginals) {
  const WeightsReport report = Diff(Folded());
  EXPECT_EQ(report.FirstDifferent(), nullptr) << FormatWeightsText(report);
  EXPECT_EQ(report.Count(WeightsPair::kFolded), 2);
  EXPECT_EQ(report.Count(WeightsPair::kEqual), 4);
  EXPECT_TRUE(report.only_original.empty() && report.only_converted.empty()) << FormatWeightsText(report);
  EXPECT_EQ(nlohmann::json::parse(FormatWeightsJson(report))["pairs"].size(), report.pairs.size());
}

// A channel of zeros has no factor.
TEST_F(WeightsTest, ScalesThatNoNormExplainsAreSaidOfOtherChannels) {
  Weights original = original_, converted = Folded();
  const auto dead = [](float value, int64_t i) { return i / 36 == 0 ? 0 : value; };
  original["conv2.weight"] = Changed(original_.at("conv2.weight"), dead);
  converted["conv2.weight"] = Changed(original.at("conv2.weight"), [](float value, int64_t i) {
    return value * static_cast<float>(int64_t{1} << i / 36);
  });
  const auto report = DiffWeights(WriteNpz("original.npz", original), Model("net", converted));
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_NE(CauseOf(*report, "conv2.weight").find("is scaled per output channel, by 2 to 8, which"), std::string::npos)
      << FormatWeightsText(*report);
}

TEST_F(WeightsTest, OtherNamesArePairedByTheirValues) {
  const WeightsReport report = Diff(Folded(), "other_");
  EXPECT_EQ(report.FirstDifferent(), nullptr) << FormatWeightsText(report);
  EXPECT_EQ(report.Count(WeightsPair::kFolded) + report.Count(WeightsPair::kEqual), 6) << FormatWeightsText(report);
  EXPECT_TRUE(report.only_original.empty() && report.only_converted.empty()) << FormatWeightsText(report);
}

TEST_F(WeightsTest, TranspositionsAreNamedByTheirAxes) {
  Weights weights = Folded();
  weights["conv2.weight"] = Turned(weights["conv2.weight"], {3, 2, 0, 1}, {4, 4, 3, 3});
  EXPECT_TRUE(Has(CauseOf(Diff(weights), "conv2.weight"), "(3,2,0,1)"));
  weights["conv2.weight"] = Turned(original_.at("conv2.weight"), {0, 2, 3, 1}, {4, 4, 3, 3});
  EXPECT_TRUE(Has(CauseOf(Diff(weights, "other_"), "conv2.weight"), "(0,2,3,1) of the original's axes (OHWI"));
}

TEST_F(WeightsTest, AMissingBiasIsNamed) {
  Weights weights = Folded();
  weights.erase("conv2.bias");
  EXPECT_EQ(CauseOf(Diff(weights), "conv2.bias"), "is missing: the layer has no bias in the converted model");
  weights = Folded();
  weights.erase("conv1.bias");
  EXPECT_EQ(CauseOf(Diff(weights), "bn1.bias"), "is missing: 'bn1' is folded into a layer without a bias");
}

TEST_F(WeightsTest, RoundingIsNamedAndNoDifference) {
  const auto rounded = [&](const std::function<float(float, int64_t)>& to) {
    Weights weights = Folded();
    weights["conv2.weight"] = Changed(weights["conv2.weight"], to);
    const WeightsReport report = Diff(weights);
    EXPECT_EQ(report.FirstDifferent(), nullptr) << FormatWeightsText(report);
    EXPECT_EQ(report.Count(WeightsPair::kRounded), 1) << FormatWeightsText(report);
    for (const WeightsPair& pair : report.pairs) {
      if (pair.verdict == WeightsPair::kRounded) return pair.cause;
    }
    return std::string();
  };
  EXPECT_EQ(rounded([](float x, int64_t) { return HalfToFloat(FloatToHalf(x)); }), "f16");
  EXPECT_EQ(rounded([](float x, int64_t) { return BitsToFloat(FloatToBits(x) & 0xFFFF0000u); }), "bf16");
  float largest[4] = {0, 0, 0, 0};
  const Tensor& weight = original_.at("conv2.weight");
  for (int64_t i = 0; i < weight.NumElements(); ++i)
    largest[i / 36] = std::max(largest[i / 36], std::abs(weight.data<float>()[i]));
  EXPECT_EQ(rounded([&](float x, int64_t i) {
              const float step = largest[i / 36] / 127;
              return std::nearbyint(x / step) * step;
            }),
            "int8");
}

TEST_F(WeightsTest, ABatchNormFoldedWithAnotherEpsilonIsNamed) {
  WeightsOptions options;
  options.epsilon = 1e-5;
  EXPECT_EQ(CauseOf(Diff(Folded(1e-3F), "", options), "conv1.weight"),
            "has 'bn1' folded in with the epsilon 0.001; the original's is 1e-05");
  const WeightsReport unsaid = Diff(Folded(1e-3F));
  EXPECT_EQ(unsaid.FirstDifferent(), nullptr) << FormatWeightsText(unsaid);
  ASSERT_EQ(unsaid.notes.size(), 1u);
  EXPECT_TRUE(Has(unsaid.notes[0], "folded with 0.001")) << unsaid.notes[0];
}

TEST_F(WeightsTest, AFoldWithoutTheRunningMeanIsNamed) {
  Weights weights = Folded();
  weights["conv1.bias"] = original_.at("bn1.bias");
  EXPECT_EQ(CauseOf(Diff(weights), "bn1.bias"), "leaves out the running mean of 'bn1'");
}

TEST_F(WeightsTest, ExchangedTensorsAreNamed) {
  Weights weights = Folded();
  std::swap(weights["conv1.weight"], weights["conv2.weight"]);
  EXPECT_EQ(CauseOf(Diff(weights), "conv1.weight"), "is exchanged with 'conv2.weight'");
  weights = Folded();
  weights["conv2.weight"] = weights["conv1.weight"];
  EXPECT_EQ(CauseOf(Diff(weights), "conv2.weight"), "holds the values of 'conv1.weight'");
}

TEST_F(WeightsTest, ALayerThatWasNeverLoadedIsNamed) {
  Weights weights = Folded();
  weights["fc.weight"] = Drawn({8, 64}, 77);
  EXPECT_TRUE(Has(CauseOf(Diff(weights), "fc.weight"), "has nothing in common with the original's"));
  EXPECT_TRUE(Has(CauseOf(Diff(weights, "other_"), "fc.weight"), "it was never loaded"));
  weights["fc.weight"] = Changed(weights["fc.weight"], [](float, int64_t) { return 0.0F; });
  EXPECT_EQ(CauseOf(Diff(weights), "fc.weight"), "is all zeros");
}

TEST_F(WeightsTest, OneFactorAndAFewValuesAreNamed) {
  Weights weights = Folded();
  weights["fc.weight"] = Changed(weights["fc.weight"], [](float x, int64_t) { return x / 255; });
  EXPECT_TRUE(Has(CauseOf(Diff(weights), "fc.weight"), "is 0.00392157 times the original's"));
  weights["fc.weight"] = Changed(original_.at("fc.weight"), [](float x, int64_t i) { return i == 5 ? x + 1 : x; });
  EXPECT_TRUE(Has(CauseOf(Diff(weights), "fc.weight"), "differs in 1 of 512 values, first in 5"));
}

TEST_F(WeightsTest, FilesThatHoldNoWeightsAreOneSentence) {
  const std::string npz = WriteNpz("original.npz", original_);
  EXPECT_TRUE(Has(DiffWeights(npz, WriteText("x.txt", "1\n")).status().message(), "weights are read from .onnx"));
  EXPECT_EQ(DiffWeights(npz, At("none.onnx")).status().code(), StatusCode::kNotFound);
  WriteText("structure.tnnproto",
            "\"1 2 1 4206624772 ,\"\n\"x 4 1 1 1 4 0 ,\"\n\" x y ,\"\n\"y ,\"\n\" 1 ,\"\n\"ReLU r 1 1 x y ,\"\n");
  EXPECT_TRUE(Has(DiffWeights(npz, At("structure.tnnproto")).status().message(), "has no tnnmodel beside it"));
}

}  // namespace
}  // namespace plumb
