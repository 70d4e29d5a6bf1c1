// SPDX-License-Identifier: Apache-2.0
// Headroom (plumb/tool/headroom.h) against brute force: ten small networks, each computed with every set of its layers
// in f32 and the others in f16, value by value and term by term; the smallest set in which nothing overflows must be
// the report's.
#include "plumb/tool/headroom.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "plumb/plumb.h"

namespace plumb {
namespace {

using Values = std::vector<double>;
constexpr int kWidth = 12;

double ToF16(double value) {
  if (std::isnan(value) || std::isinf(value)) return value;
  const double size = std::fabs(value);
  const double unit = size < 0x1p-14 ? 0x1p-24 : std::ldexp(1, std::ilogb(size) - 10);
  const double rounded = std::nearbyint(value / unit) * unit;
  return std::fabs(rounded) > 65504 ? std::copysign(INFINITY, rounded) : rounded;
}

// A network of layers in a row: products, functions, and sums with an earlier blob.
struct Small {
  struct One {
    std::string type;
    int other = -1;       // of Add and Mul: which earlier blob, 0 is the input
    Values weight, bias;  // of InnerProduct
  };
  Values input;
  std::vector<One> layers;
};

Small Draw(unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  const auto draw = [&](size_t count, double scale) {
    Values values(count);
    for (double& v : values) v = static_cast<double>(static_cast<float>(ToF16(scale * normal(random))));
    return values;
  };
  Small net;
  net.input = draw(kWidth, 4);
  const char* types[] = {"InnerProduct", "ReLU", "InnerProduct", "Add",
                         "InnerProduct", "Mul",  "Sigmoid",      "InnerProduct"};
  for (int i = 0; i < 8; ++i) {
    Small::One layer;
    layer.type = types[(static_cast<unsigned>(i) + seed) % 8];
    if (layer.type == "Add" || layer.type == "Mul")
      layer.other = static_cast<int>(random() % static_cast<unsigned>(i + 1));
    if (layer.type == "InnerProduct") {
      layer.weight = draw(kWidth * kWidth, seed % 2 == 0 ? 4 : 12);
      layer.bias = draw(kWidth, 100);
    }
    net.layers.push_back(layer);
  }
  return net;
}

Tensor AsTensor(const Shape& shape, const Values& values) {
  Tensor tensor = Tensor::Create(DType::kF32, shape).value();
  for (size_t i = 0; i < values.size(); ++i) tensor.data<float>()[i] = static_cast<float>(values[i]);
  return tensor;
}

std::shared_ptr<const Graph> GraphOfSmall(const Small& net) {
  GraphBuilder builder("small");
  builder.Input("b0", {1, kWidth});
  for (size_t i = 0; i < net.layers.size(); ++i) {
    const Small::One& layer = net.layers[i];
    const std::string in = "b" + std::to_string(i), out = "b" + std::to_string(i + 1);
    if (layer.type == "InnerProduct") {
      builder.Add(layer.type, {in}, {out}, "num_output=12 axis=1 has_bias transpose=0",
                  {{"weight", AsTensor({kWidth, kWidth}, layer.weight)}, {"bias", AsTensor({kWidth}, layer.bias)}});
    } else if (layer.other >= 0) {
      builder.Add(layer.type, {in, "b" + std::to_string(layer.other)}, {out});
    } else {
      builder.Add(layer.type, {in}, {out});
    }
  }
  builder.Output("b8");
  const auto graph = builder.Build();
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  return std::make_shared<const Graph>(graph.value());
}

// A layer with numbers of f16 (or of any size), and whether one of them became infinite.
struct Machine {
  bool half = false;
  HalfSums sums = HalfSums::kF32;
  bool* overflowed;

  double Store(double value) const {
    const double stored = half ? ToF16(value) : value;
    *overflowed = *overflowed || !std::isfinite(stored);
    return stored;
  }
  double Sum(const Values& terms) const {
    double sum = 0;
    for (const double term : terms) {
      sum += term;
      if (half && sums != HalfSums::kF32) sum = Store(sum);
    }
    return sum;
  }
  // In every order that counts.
  double SumOfProducts(const Small::One& layer, const Values& x, int o) const {
    Values terms;
    for (int k = 0; k < kWidth; ++k)
      terms.push_back(layer.weight[static_cast<size_t>(o * kWidth + k)] * x[static_cast<size_t>(k)]);
    const double bias = layer.bias[static_cast<size_t>(o)];
    Values first = terms, last = terms;
    first.insert(first.begin(), bias);
    last.push_back(bias);
    if (sums == HalfSums::kAnyOrder) {
      std::sort(last.begin(), last.end());
      Sum(last);
      std::reverse(last.begin(), last.end());
    }
    Sum(first);
    return Sum(last);
  }
  Values Run(const Small::One& layer, const Values& x, const Values& other) const {
    Values read = x, second = other, y(kWidth);
    for (Values* values : {&read, &second}) {
      for (double& v : *values) v = Store(v);
    }
    for (size_t i = 0; i < y.size(); ++i) {
      if (layer.type == "InnerProduct") y[i] = SumOfProducts(layer, read, static_cast<int>(i));
      if (layer.type == "ReLU") y[i] = std::max(read[i], 0.0);
      if (layer.type == "Sigmoid") y[i] = 1 / (1 + std::exp(-read[i]));
      if (layer.type == "Add") y[i] = read[i] + second[i];
      if (layer.type == "Mul") y[i] = read[i] * second[i];
      y[i] = Store(y[i]);
    }
    return y;
  }
};

// Whether something overflows with these layers (bits) in f32.
bool Overflows(const Small& net, unsigned kept, HalfSums sums) {
  bool overflowed = false;
  std::vector<Values> blobs = {net.input};
  for (size_t i = 0; i < net.layers.size(); ++i) {
    const Machine machine{(kept >> i & 1) == 0, sums, &overflowed};
    const int other = net.layers[i].other;
    blobs.push_back(machine.Run(net.layers[i], blobs[i], other < 0 ? Values() : blobs[static_cast<size_t>(other)]));
    if (overflowed) return true;
  }
  return false;
}

TEST(Headroom, AgreesWithBruteForceOnTenNetworks) {
  size_t sets_of_some = 0, sums_decide = 0;
  for (unsigned seed = 1; seed <= 10; ++seed) {
    const Small net = Draw(seed);
    const auto report = MeasureHeadroom(GraphOfSmall(net), {{"b0", AsTensor({1, kWidth}, net.input)}}, {});
    ASSERT_TRUE(report.ok()) << report.status().message();
    ASSERT_EQ(report->layers.size(), net.layers.size());
    std::array<size_t, 3> sizes{};
    for (const HalfSums sums : kHalfSums) {
      unsigned best = 0;
      int best_size = 99, as_small = 0;
      for (unsigned kept = 0; kept < 256; ++kept) {
        int size = 0;
        for (unsigned bits = kept; bits != 0; bits &= bits - 1) ++size;
        if (size > best_size || Overflows(net, kept, sums)) continue;
        as_small = size == best_size ? as_small + 1 : 1;
        best_size = size;
        best = kept;
      }
      EXPECT_EQ(as_small, 1) << "no other set is as small";
      std::vector<size_t> expected;
      for (size_t i = 0; i < 8; ++i) {
        if ((best >> i & 1) != 0) expected.push_back(i);
      }
      EXPECT_EQ(report->Kept(HalfFormat::kF16, sums), expected) << "seed " << seed << ", sums " << HalfSumsName(sums);
      EXPECT_TRUE(report->Kept(HalfFormat::kBF16, sums).empty());
      sizes[static_cast<size_t>(sums)] = expected.size();
    }
    sets_of_some += sizes[0] > 0 && sizes[0] < 8;
    sums_decide += sizes[2] > sizes[0];
  }
  EXPECT_GE(sets_of_some, 5u);
  EXPECT_GE(sums_decide, 1u);
}

// By hand: 3 taps over 4 pixels, two channels.
TEST(Headroom, PartialSumsOfAConvolution) {
  GraphBuilder builder("conv");
  builder.Input("x", {1, 2, 1, 4});
  Tensor weight = AsTensor({1, 2, 1, 3}, {1, 2, 3, -1, -1, -1}), bias = AsTensor({1}, {10});
  builder.Add("Convolution", {"x"}, {"y"}, "in_channels_per_group=2 out_channels=1 kernel=1x3 pad_w=1 bias",
              {{"weight", weight}, {"bias", bias}});
  builder.Output("y");
  const Tensor x = AsTensor({1, 2, 1, 4}, {1, 0, 2, 0, 5, 5, 5, 5});
  const auto report = MeasureHeadroom(std::make_shared<const Graph>(builder.Build().value()), {{"x", x}}, {}).value();
  const LayerHeadroom& layer = report.layers[0];
  // The terms of the four pixels: 2 0 -5 -5, 1 0 6 -5 -5 -5, 0 4 0 -5 -5 -5, 2 0 -5 -5; each after 10, and before it.
  EXPECT_EQ(layer.in_order, 17);
  EXPECT_EQ(layer.any_order, 17);
  EXPECT_EQ(layer.largest, 2);
  EXPECT_EQ(layer.largest_constant, 10);
  EXPECT_EQ(layer.largest_read, 5);
}

// A deconvolution is the sum of what each input reaches.
TEST(Headroom, PartialSumsOfADeconvolution) {
  GraphBuilder builder("deconv");
  builder.Input("x", {1, 1, 1, 3});
  builder.Add("Deconvolution", {"x"}, {"y"}, "in_channels_per_group=1 out_channels=1 kernel=1x3 stride=1x2",
              {{"weight", AsTensor({1, 1, 1, 3}, {4, 1, -2})}});
  builder.Output("y");
  const Tensor x = AsTensor({1, 1, 1, 3}, {1, 10, 100});
  const auto report = MeasureHeadroom(std::make_shared<const Graph>(builder.Build().value()), {{"x", x}}, {}).value();
  EXPECT_EQ(report.layers[0].largest, 380) << "4 * 100 - 2 * 10";
  EXPECT_EQ(report.layers[0].in_order, 400);
  EXPECT_EQ(report.layers[0].any_order, 400);
}

TEST(Headroom, SmallValuesAreCounted) {
  GraphBuilder builder("relu");
  builder.Input("x", {1, 4});
  builder.Add("ReLU", {"x"}, {"y"});
  builder.Output("y");
  const Tensor x = AsTensor({1, 4}, {0, 1, 0x1p-15, 0x1p-26});
  const auto report = MeasureHeadroom(std::make_shared<const Graph>(builder.Build().value()), {{"x", x}}, {}).value();
  EXPECT_EQ(report.layers[0].loss[0].subnormal, 1);
  EXPECT_EQ(report.layers[0].loss[0].zero, 1);
  EXPECT_EQ(report.layers[0].loss[1].subnormal + report.layers[0].loss[1].zero, 0);
}

// A mask's -inf is a number of f16; the square that leaves f32's range is none of any format.
TEST(Headroom, InfinitiesAreTheModelsOrOverflows) {
  GraphBuilder builder("mask");
  builder.Input("x", {1, 4});
  Tensor mask = AsTensor({1, 4}, {0, 0, 0, 0});
  mask.data<float>()[1] = -INFINITY;
  builder.Constant("mask", mask);
  builder.Add("Add", {"x", "mask"}, {"masked"});
  builder.Add("Softmax", {"masked"}, {"p"}, "axis=1");
  builder.Add("Mul", {"x", "x"}, {"square"});
  builder.Output("p");
  builder.Output("square");
  const Tensor x = AsTensor({1, 4}, {0, 1, 2, 1e30});
  const auto report = MeasureHeadroom(std::make_shared<const Graph>(builder.Build().value()), {{"x", x}}, {}).value();
  EXPECT_EQ(report.layers[0].largest, static_cast<double>(1e30F));
  EXPECT_EQ(report.Kept(HalfFormat::kBF16, HalfSums::kF32), (std::vector<size_t>{2}));
}

// A Pad in front of a maximum writes -inf, which both formats hold.
TEST(Headroom, AParametersInfinityIsNoOverflow) {
  GraphBuilder builder("pad");
  builder.Input("x", {1, 1, 2, 2});
  builder.Add("PadV2", {"x"}, {"y"}, "begins=[0,0,1,1] ends=[0,0,1,1] value=-inf");
  builder.Output("y");
  const Tensor x = AsTensor({1, 1, 2, 2}, {1, 2, 3, 4});
  const auto report = MeasureHeadroom(std::make_shared<const Graph>(builder.Build().value()), {{"x", x}}, {}).value();
  EXPECT_EQ(report.layers[0].largest, 4);
  EXPECT_TRUE(report.Kept(HalfFormat::kF16, HalfSums::kAnyOrder).empty());
}

// Terms of 16.015625 are cut to 16 beside 32768 in steps of 32 upwards: each adds 32, and 1100 of them leave f16's
// range.
TEST(Headroom, RoundingOfTheSumsIsCounted) {
  constexpr int64_t kTerms = 1101;
  GraphBuilder builder("sum");
  builder.Input("x", {1, kTerms});
  Tensor ones = Tensor::Create(DType::kF32, {kTerms, 1}).value(), x = Tensor::Create(DType::kF32, {1, kTerms}).value();
  for (int64_t i = 0; i < kTerms; ++i) {
    ones.data<float>()[i] = 1;
    x.data<float>()[i] = i == 0 ? 32768 : 16.015625F;
  }
  builder.Constant("w", ones).Add("MatMul", {"x", "w"}, {"y"});
  builder.Output("y");
  const auto report = MeasureHeadroom(std::make_shared<const Graph>(builder.Build().value()), {{"x", x}}, {}).value();
  EXPECT_LT(report.layers[0].in_order, 65504);
  EXPECT_GE(report.layers[0].in_order_f16, 65520);
  EXPECT_TRUE(report.Kept(HalfFormat::kF16, HalfSums::kF32).empty());
  EXPECT_EQ(report.Kept(HalfFormat::kF16, HalfSums::kInOrder).size(), 1u);
  EXPECT_NE(FormatHeadroom(report, 120).find("(100 % of the multiply-adds)"), std::string::npos);
  EXPECT_EQ(FormatHeadroom(report, 120, true).find("largest value"), std::string::npos) << "the sentences alone";
}

TEST(Headroom, NaNIsSaid) {
  GraphBuilder builder("root");
  builder.Input("x", {1, 2});
  builder.Add("Sqrt", {"x"}, {"y"});
  builder.Output("y");
  const Tensor x = AsTensor({1, 2}, {-4, 4});
  const auto report = MeasureHeadroom(std::make_shared<const Graph>(builder.Build().value()), {{"x", x}}, {}).value();
  EXPECT_TRUE(report.layers[0].nan);
  EXPECT_NE(FormatHeadroom(report, 120).find("NaN: 1 layers write it, 'y' first"), std::string::npos)
      << FormatHeadroom(report, 120);
}

TEST(Headroom, ReportsSayTheSame) {
  const Small net = Draw(2);
  const auto report = MeasureHeadroom(GraphOfSmall(net), {{"b0", AsTensor({1, kWidth}, net.input)}}, {}).value();
  const std::vector<size_t> kept = report.Kept(HalfFormat::kF16, HalfSums::kAnyOrder);
  ASSERT_FALSE(kept.empty());
  const std::string text = FormatHeadroom(report, 120);
  EXPECT_NE(text.find(std::to_string(kept.size()) + " of 8 layers must stay in f32"), std::string::npos) << text;
  EXPECT_NE(text.find("bf16, sums in f32: nothing overflows"), std::string::npos) << text;
  const auto json = nlohmann::json::parse(FormatHeadroomJson(report));
  EXPECT_EQ(json["keep_f32"].size(), 6u);
  EXPECT_EQ(json["keep_f32"][2]["layers"].size(), kept.size());
  EXPECT_EQ(json["keep_f32"][2]["layers"][0]["name"], report.layers[kept[0]].name);
  EXPECT_EQ(json["layers"].size(), 8u);
}

}  // namespace
}  // namespace plumb
