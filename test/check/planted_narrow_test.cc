// SPDX-License-Identifier: Apache-2.0
// Weights, operands and biases of few bits and sums in f16, each named as planted_causes_test.cc's are. What a format
// makes of a value is found here by trying all of its codes.
#include <algorithm>
#include <cmath>

#include "base/half.h"
#include "op/convolution.h"
#include "op/inner_product.h"
#include "op/matmul.h"
#include "op/norm.h"
#include "op/pooling.h"
#include "op/reduce.h"
#include "op/softmax.h"
#include "planted_cause.h"

namespace plumb {
namespace {

constexpr int64_t kRows = 6, kTerms = 256, kOutputs = 24;
using Block = std::vector<double>;

Graph Dense(const Tensor& weight, const Tensor& bias) {
  Layer layer = LayerOf<InnerProductParam>(OpKind::kInnerProduct,
                                           [](InnerProductParam* p) { p->num_output = kOutputs, p->has_bias = true; });
  layer.resources = {{"weight", weight}, {"bias", bias}};
  return GraphOf({layer}, {kRows, kTerms});
}

Tensor Weight() { return Gauss({kOutputs, kTerms}, 0.1, 0.01); }
Tensor Bias() {
  return Mapped(Gauss({kOutputs}), [](double v) { return 0.37 * v; });
}
Graph Says() { return Dense(Weight(), Bias()); }

// Blocks of so many values, one after the other, each changed by `round`.
Tensor InBlocks(Tensor tensor, int64_t size, const std::function<void(Block*)>& round) {
  for (int64_t begin = 0; begin < tensor.NumElements(); begin += size) {
    float* at = tensor.data<float>() + begin;
    Block block(at, at + size);
    round(&block);
    for (int64_t i = 0; i < size; ++i) at[i] = static_cast<float>(block[static_cast<size_t>(i)]);
  }
  return tensor;
}

double Largest(const Block& block) {
  double largest = 0;
  for (double v : block) largest = std::max(largest, std::fabs(v));
  return largest;
}

void ToSteps(Block* block, int levels) {
  const double step = Largest(*block) / levels;
  for (double& v : *block) v = std::nearbyint(v / step) * step;
}

void ToZeroPoint(Block* block, int levels) {
  const double low = std::min(0.0, *std::min_element(block->begin(), block->end()));
  const double high = std::max(0.0, *std::max_element(block->begin(), block->end()));
  const double scale = (high - low) / levels, zero = std::nearbyint(-low / scale);
  for (double& v : *block)
    v = (std::min<double>(std::max(std::nearbyint(v / scale) + zero, 0.0), levels) - zero) * scale;
}

// The nearest of all finite values of sign, exponent (bias) and fraction of so many bits.
double Nearest8(double v, int exponent_bits, int fraction_bits, int bias, double most) {
  double best = 0;
  for (int code = 0; code < 128; ++code) {
    const int exponent = code >> fraction_bits, fraction = code & ((1 << fraction_bits) - 1);
    const double part = static_cast<double>(fraction) / (1 << fraction_bits);
    const double value = exponent == 0 ? std::ldexp(part, 1 - bias) : std::ldexp(1 + part, exponent - bias);
    if (exponent >= 1 << exponent_bits || value > most) continue;
    if (std::fabs(std::fabs(v) - value) < std::fabs(std::fabs(v) - best)) best = value;
  }
  return std::copysign(best, v);
}

void ToFloat8(Block* block, bool fine, bool scaled) {
  const double most = fine ? 448 : 57344, scale = scaled ? Largest(*block) / most : 1;
  for (double& v : *block) v = Nearest8(v / scale, fine ? 4 : 5, fine ? 3 : 2, fine ? 7 : 15, most) * scale;
}

PlantedCause OfWeights(const std::string& name, int64_t block, const std::function<void(Block*)>& round,
                       const std::string& words) {
  return {name, Says(), Dense(InBlocks(Weight(), block, round), Bias()), words};
}

std::vector<PlantedCause> WeightPlants() {
  const int64_t all = kOutputs * kTerms;
  std::vector<PlantedCause> plants = {
      OfWeights(
          "fp8 e4m3", all, [](Block* b) { ToFloat8(b, true, false); }, "with weights rounded to fp8 (e4m3);"),
      OfWeights(
          "fp8 e5m2", all, [](Block* b) { ToFloat8(b, false, false); }, "with weights rounded to fp8 (e5m2);"),
      OfWeights(
          "fp8 e4m3 scaled", kTerms, [](Block* b) { ToFloat8(b, true, true); },
          "with weights rounded to fp8 (e4m3), scaled per output channel"),
      OfWeights(
          "int8 with a zero point", all, [](Block* b) { ToZeroPoint(b, 255); },
          "with weights rounded to int8 with a zero point per tensor"),
      OfWeights(
          "int4 with a zero point per channel", kTerms, [](Block* b) { ToZeroPoint(b, 15); },
          "with weights rounded to int4 with a zero point per output channel")};
  for (const int64_t size : {16, 32, 64, 128}) {
    const std::string groups = " in groups of " + std::to_string(size);
    plants.push_back(OfWeights(
        "int4" + groups, size, [](Block* b) { ToSteps(b, 7); }, "with weights rounded to int4" + groups + ";"));
    plants.push_back(OfWeights(
        "int4 with a zero point" + groups, size, [](Block* b) { ToZeroPoint(b, 15); },
        "with weights rounded to int4 with a zero point" + groups + ";"));
  }
  // ncnn's f16: whole vectors of 8 cut off, what is left of a channel rounded.
  constexpr int64_t kOdd = 300;
  const Tensor weight = Gauss({kOutputs, kOdd}, 0.1, 0.01);
  const auto cut = [](Block* b) {
    for (size_t i = 0; i < b->size(); ++i) {
      double& v = (*b)[i];
      const auto half = static_cast<double>(HalfToFloat(FloatToHalf(static_cast<float>(v))));
      const auto smaller = static_cast<double>(HalfToFloat(FloatToHalf(static_cast<float>(v * (1 - 0x1p-11)))));
      v = i < b->size() / 8 * 8 && std::fabs(half) > std::fabs(v) ? smaller : half;
    }
  };
  const auto odd = [](const Tensor& w) {
    Graph graph = Dense(w, Bias());
    graph.inputs[0].shape = {kRows, kOdd};
    return graph;
  };
  plants.push_back({"f16 in vectors", odd(weight), odd(InBlocks(weight.Clone().value(), kOdd, cut)),
                    "with weights rounded to f16 towards zero but for the rest of vectors of 8;"});
  return plants;
}

// A runtime that rounds what it reads, computes the graph's own layer, and maybe has other weights.
PlantedCause OfInput(const std::string& name, int64_t block, const std::function<void(Block*)>& round,
                     const std::string& words, const Graph& computed) {
  PlantedCause plant{name, Says(), Says(), words};
  const Tensor x = InBlocks(Gauss({kRows, kTerms}), block, round);
  plant.spoil = [x, computed](Tensor* y) { *y = ComputedBy(computed, x); };
  return plant;
}

double Brain(double v) { return static_cast<double>(BFloat16ToFloat(FloatToBFloat16(static_cast<float>(v)))); }

// x w = (h + l)(h' + l') without l l', every part a bf16.
PlantedCause SplitOperands() {
  PlantedCause plant{"bf16x2", Says(), Says(), "with operands split in two bf16 (bf16x2)"};
  const Tensor x = Gauss({kRows, kTerms}), w = Weight(), bias = Bias();
  plant.spoil = [=](Tensor* y) {
    for (int64_t i = 0; i < kRows * kOutputs; ++i) {
      double sum = static_cast<double>(bias.data<float>()[i % kOutputs]);
      for (int64_t k = 0; k < kTerms; ++k) {
        const auto a = static_cast<double>(x.data<float>()[i / kOutputs * kTerms + k]);
        const auto b = static_cast<double>(w.data<float>()[i % kOutputs * kTerms + k]);
        const double h = Brain(a), l = Brain(a - h), g = Brain(b), m = Brain(b - g);
        sum += h * g + h * m + l * g;
      }
      y->data<float>()[i] = static_cast<float>(sum);
    }
  };
  return plant;
}

// A product of dynamic int8 whose step goes on: what follows keeps, scales or limits the sums.
PlantedCause DynamicInStep(const std::string& name, OpKind end, bool norm) {
  Layer conv = LayerOf<ConvolutionParam>(OpKind::kConvolution, [](ConvolutionParam* p) {
    p->group = 1, p->in_channels_per_group = 8, p->out_channels = 12, p->kernel_h = p->kernel_w = 3;
    p->stride_h = p->stride_w = 1, p->bias = true, p->pad_type = kPadSame;
  });
  const Shape shape = {1, 8, 14, 14};
  conv.resources = {{"weight", Gauss({12, 8, 3, 3}, 0.1)}, {"bias", Gauss({12})}};
  conv.outputs = {"c"};
  std::vector<Layer> layers = {conv};
  if (norm) {
    layers.push_back(MakeLayer(OpKind::kBatchNormCxx, "bn", {"c"}, {"b"}));
    layers.back().resources = {{"scale", Gauss({12}, 0.3, 1.1)}, {"bias", Gauss({12}, 0.2)}};
  }
  layers.push_back(MakeLayer(end, "end", {norm ? "b" : "c"}, {"y"}));
  Graph computed = GraphOf(layers, shape);
  PlantedCause plant{name, computed, computed,
                     "with weights rounded to int8 in 64 steps per output channel and its input rounded to int8 with a "
                     "zero point as the network runs, per tensor"};
  Tensor& weight = computed.layers[0].resources["weight"];
  weight = InBlocks(weight.Clone().value(), 72, [](Block* b) { ToSteps(b, 64); });
  const Tensor x = InBlocks(Gauss(shape), shape.NumElements(), [](Block* b) { ToZeroPoint(b, 255); });
  plant.spoil = [x, computed](Tensor* y) { *y = ComputedBy(computed, x); };
  return plant;
}

std::vector<PlantedCause> OperandPlants() {
  const Graph whole = Dense(InBlocks(Weight(), kTerms, [](Block* b) { ToSteps(b, 127); }), Bias());
  const auto steps = [](Block* b) { ToSteps(b, 127); };
  const auto zero_point = [](Block* b) { ToZeroPoint(b, 255); };
  const Tensor x = Gauss({kRows, kTerms}), w = Weight();
  const double scale = Largest(Block(x.data<float>(), x.data<float>() + x.NumElements())) / 127 *
                       Largest(Block(w.data<float>(), w.data<float>() + w.NumElements())) / 127;
  const Tensor bias = Mapped(Bias(), [scale](double v) { return std::nearbyint(v / scale) * scale; });
  return {
      OfInput("dynamic int8", kRows * kTerms, steps, "with its input rounded to int8 as the network runs, per tensor",
              Says()),
      OfInput("dynamic int8 with a zero point", kRows * kTerms, zero_point,
              "with its input rounded to int8 with a zero point as the network runs, per tensor", Says()),
      OfInput("dynamic int8 per row", kTerms, steps, "with its input rounded to int8 as the network runs, per row",
              Says()),
      OfInput("dynamic int8 and int8 weights", kRows * kTerms, zero_point,
              "with weights rounded to int8 per output channel and its input rounded to int8 with a zero point as the "
              "network runs, per tensor",
              whole),
      OfInput(
          "activations in bf16", kTerms,
          [](Block* b) {
            for (double& v : *b) v = Brain(v);
          },
          "with its input rounded to bf16", Says()),
      DynamicInStep("dynamic int8 in front of ReLU", OpKind::kReLU, false),
      DynamicInStep("dynamic int8 in front of a norm and ReLU6", OpKind::kReLU6, true),
      {"bias in int32", Says(), Dense(Weight(), bias),
       "with the bias rounded to int32 steps of max |x| / 127 times max |w| / 127"},
      SplitOperands()};
}

// conv, batch normalisation and ReLU in one step, the product of weights and gains in f16.
PlantedCause FoldedWeights() {
  Layer conv = LayerOf<ConvolutionParam>(OpKind::kConvolution, [](ConvolutionParam* p) {
    p->group = 1, p->in_channels_per_group = 4, p->out_channels = 6, p->kernel_h = p->kernel_w = 3;
    p->stride_h = p->stride_w = 1, p->bias = true, p->pad_type = kPadSame;
  });
  conv.resources = {{"weight", Gauss({6, 4, 3, 3}, 0.1)}, {"bias", Gauss({6})}};
  conv.outputs = {"c"};
  Layer norm = MakeLayer(OpKind::kBatchNormCxx, "bn", {"c"}, {"b"});
  const Tensor gain = Gauss({6}, 0.3, 1.1), shift = Gauss({6}, 0.2);
  norm.resources = {{"scale", gain}, {"bias", shift}};
  const Graph says = GraphOf({conv, norm, MakeLayer(OpKind::kReLU, "relu", {"b"}, {"y"})}, {1, 4, 10, 10});
  Graph folded = says;
  Tensor weight = conv.resources["weight"].Clone().value(), bias = conv.resources["bias"].Clone().value();
  for (int64_t i = 0; i < weight.NumElements(); ++i)
    weight.data<float>()[i] = HalfToFloat(FloatToHalf(weight.data<float>()[i] * gain.data<float>()[i / 36]));
  for (int64_t i = 0; i < 6; ++i)
    bias.data<float>()[i] = bias.data<float>()[i] * gain.data<float>()[i] + shift.data<float>()[i];
  folded.layers[0].resources = {{"weight", weight}, {"bias", bias}};
  folded.layers[1].resources = {{"scale", Mapped(gain, [](double) { return 1; })},
                                {"bias", Mapped(shift, [](double) { return 0; })}};
  return {"folded weights in f16", says, folded, "with the folded weights rounded to f16"};
}

float Half(float v) { return HalfToFloat(FloatToHalf(v)); }

// Terms added one after the other in f16, in lanes; divided at the end.
PlantedCause HalfSum(const std::string& name, const Graph& graph, const std::string& words, int64_t count,
                     int64_t lanes, const std::function<float(const float*, int64_t output, int64_t k)>& term,
                     float divisor) {
  PlantedCause plant{name, graph, graph, words};
  plant.x = Gauss(graph.inputs[0].shape, 1, 0.6);
  plant.spoil = [=, x = plant.x](Tensor* y) {
    for (int64_t o = 0; o < y->NumElements(); ++o) {
      std::vector<float> sums(static_cast<size_t>(lanes), 0.0f);
      for (int64_t k = 0; k < count; ++k) {
        float& sum = sums[static_cast<size_t>(k % lanes)];
        sum = Half(sum + Half(term(x.data<float>(), o, k)));
      }
      for (size_t l = 1; l < sums.size(); ++l) sums[0] = Half(sums[0] + sums[l]);
      y->data<float>()[o] = Half(sums[0] / divisor);
    }
  };
  return plant;
}

std::vector<PlantedCause> SumPlants() {
  Layer mean = LayerOf<ReduceParam>(OpKind::kReduceMean, [](ReduceParam* p) { p->axes = {1}; });
  Layer squares = LayerOf<ReduceParam>(OpKind::kReduceSumSquare, [](ReduceParam* p) { p->axes = {1}; });
  Layer pool = LayerOf<PoolingParam>(OpKind::kPooling, [](PoolingParam* p) {
    p->pool_type = kPoolAverage, p->kernel_h = p->kernel_w = 5, p->stride_h = p->stride_w = 1;
  });
  const auto row = [](const float* x, int64_t o, int64_t k) { return x[o * 200 + k]; };
  const auto square = [](const float* x, int64_t o, int64_t k) { return x[o * 200 + k] * x[o * 200 + k]; };
  const auto window = [](const float* x, int64_t o, int64_t k) {
    return x[(o / 36 * 10 + o / 6 % 6 + k / 5) * 10 + o % 6 + k % 5];
  };
  // Operands and sums in f16, as real kernels have them.
  PlantedCause both{"operands and sums in f16", Says(), Says(),
                    "operands rounded and accumulated in f16, channel by channel"};
  const Tensor x = Gauss({kRows, kTerms}), w = Weight(), bias = Bias();
  both.spoil = [=](Tensor* y) {
    for (int64_t i = 0; i < kRows * kOutputs; ++i) {
      float sum = 0;
      for (int64_t k = 0; k < kTerms; ++k)
        sum = Half(sum +
                   Half(x.data<float>()[i / kOutputs * kTerms + k]) * Half(w.data<float>()[i % kOutputs * kTerms + k]));
      y->data<float>()[i] = Half(sum + bias.data<float>()[i % kOutputs]);
    }
  };
  return {HalfSum("a mean in f16", GraphOf({mean}, {32, 200}), "accumulated in f16", 200, 1, row, 200),
          HalfSum("a mean in f16 in lanes", GraphOf({mean}, {32, 200}), "accumulated in f16, in 8 partial sums", 200, 8,
                  row, 200),
          HalfSum("squares in f16", GraphOf({squares}, {32, 200}), "accumulated in f16", 200, 1, square, 1),
          HalfSum("a pool in f16", GraphOf({pool}, {1, 3, 10, 10}), "accumulated in f16", 25, 1, window, 25),
          FoldedWeights(),
          both};
}

// Rows of so many elements whose sums are in f16 or bf16, as softmax and the norms of real kernels have them.
float NarrowSum(const std::vector<float>& terms, size_t lanes, const std::function<float(float)>& round) {
  std::vector<float> sums(lanes, 0.0f);
  for (size_t k = 0; k < terms.size(); ++k) sums[k % lanes] = round(sums[k % lanes] + round(terms[k]));
  for (size_t l = 1; l < lanes; ++l) sums[0] = round(sums[0] + sums[l]);
  return sums[0];
}

PlantedCause RowPlant(const std::string& name, const Layer& layer, const Shape& shape, int64_t size,
                      const std::string& words, const std::function<void(std::vector<float>*)>& compute) {
  const Graph graph = GraphOf({layer}, shape);
  PlantedCause plant{name, graph, graph, words};
  plant.x = Gauss(shape, 1, 0.4);
  plant.spoil = [=, x = plant.x](Tensor* y) {
    for (int64_t row = 0; row < y->NumElements() / size; ++row) {
      std::vector<float> values(x.data<float>() + row * size, x.data<float>() + (row + 1) * size);
      compute(&values);
      std::copy(values.begin(), values.end(), y->data<float>() + row * size);
    }
  };
  return plant;
}

std::vector<PlantedCause> RowPlants() {
  const auto half = [](float v) { return Half(v); };
  const auto brain = [](float v) { return static_cast<float>(Brain(static_cast<double>(v))); };
  const auto softmax = [half](std::vector<float>* row) {
    const float largest = *std::max_element(row->begin(), row->end());
    for (float& v : *row) v = std::exp(v - largest);
    const float sum = NarrowSum(*row, 8, half);
    for (float& v : *row) v /= sum;
  };
  // Mean and variance in two passes, or E[x^2] - mean^2.
  const auto norm = [](std::vector<float>* row, bool one_pass, size_t lanes, const std::function<float(float)>& round) {
    const auto n = static_cast<float>(row->size());
    const float mean = round(NarrowSum(*row, lanes, round) / n);
    std::vector<float> squares;
    for (const float v : *row) squares.push_back(one_pass ? v * v : (v - mean) * (v - mean));
    const float sum = round(NarrowSum(squares, lanes, round) / n);
    const double variance = static_cast<double>(one_pass ? sum - mean * mean : sum);
    const auto inverse = static_cast<float>(1 / std::sqrt(variance + 1e-5));
    for (float& v : *row) v = (v - mean) * inverse;
  };
  Layer layer_norm = LayerOf<LayerNormParam>(OpKind::kLayerNorm, [](LayerNormParam* p) { p->reduce_dims_size = 1; });
  Layer group_norm = LayerOf<GroupNormParam>(OpKind::kGroupNorm, [](GroupNormParam* p) { p->group = 4; });
  Layer by_rows = LayerOf<SoftmaxParam>(OpKind::kSoftmax, [](SoftmaxParam* p) { p->axis = 1; });
  return {RowPlant("a softmax in f16", by_rows, {24, 300}, 300,
                   "with the sums of its rows accumulated in f16, in 8 partial sums", softmax),
          RowPlant("a layer norm in f16", layer_norm, {12, 256}, 256,
                   "with the means and variances of its rows accumulated in f16, in 4 partial sums",
                   [=](std::vector<float>* row) { norm(row, false, 4, half); }),
          RowPlant("a group norm in bf16", group_norm, {2, 16, 7, 7}, 196,
                   "with the means and variances of its rows accumulated in bf16, the variance as the mean of squares "
                   "less the square of the mean",
                   [=](std::vector<float>* row) { norm(row, true, 1, brain); })};
}

class PlantedNarrow : public testing::TestWithParam<PlantedCause> {};
TEST_P(PlantedNarrow, AreNamedAndNoOthers) { ExpectPlanted(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Weights, PlantedNarrow, testing::ValuesIn(WeightPlants()), PlantName);
INSTANTIATE_TEST_SUITE_P(Operands, PlantedNarrow, testing::ValuesIn(OperandPlants()), PlantName);
INSTANTIATE_TEST_SUITE_P(Sums, PlantedNarrow, testing::ValuesIn(SumPlants()), PlantName);
INSTANTIATE_TEST_SUITE_P(Rows, PlantedNarrow, testing::ValuesIn(RowPlants()), PlantName);

// Three parts of bf16, or two of tf32, are as good as f32.
TEST(PlantedNarrow, SplitsOfEnoughBitsAreAligned) {
  const Tensor x = Gauss({kRows, kTerms}), w = Weight(), bias = Bias();
  const auto tf32 = [](double v) {
    int exponent;
    const double part = std::frexp(v, &exponent);
    return std::ldexp(std::nearbyint(std::ldexp(part, 11)), exponent - 11);
  };
  for (const bool brains : {true, false}) {
    Tensor y = Tensor::Create(DType::kF32, {kRows, kOutputs}).value();
    for (int64_t i = 0; i < y.NumElements(); ++i) {
      double sum = static_cast<double>(bias.data<float>()[i % kOutputs]);
      for (int64_t k = 0; k < kTerms; ++k) {
        const auto a = static_cast<double>(x.data<float>()[i / kOutputs * kTerms + k]);
        const auto b = static_cast<double>(w.data<float>()[i % kOutputs * kTerms + k]);
        double p[3], q[3];
        const auto part = [&](double v) { return brains ? Brain(v) : tf32(v); };
        p[0] = part(a), p[1] = part(a - p[0]), p[2] = brains ? part(a - p[0] - p[1]) : 0;
        q[0] = part(b), q[1] = part(b - q[0]), q[2] = brains ? part(b - q[0] - q[1]) : 0;
        sum += p[0] * q[0] + p[0] * q[1] + p[1] * q[0];
        if (brains) sum += p[1] * q[1] + p[0] * q[2] + p[2] * q[0];
      }
      y.data<float>()[i] = static_cast<float>(sum);
    }
    const LayerReport report = Judge(Says(), x, y);
    EXPECT_EQ(report.verdict, Verdict::kAligned) << (brains ? "bf16x3: " : "tf32x3: ") << report.reason;
  }
}

// What is no format of few bits has no such name.
TEST(PlantedNarrow, OtherFaultsAreNot) {
  const Tensor x = Gauss({kRows, kTerms});
  Tensor noisy = Weight().Clone().value();
  const Tensor noise = Gauss({kOutputs, kTerms}, 1e-3);
  for (int64_t i = 0; i < noisy.NumElements(); ++i)
    noisy.data<float>()[i] += noise.data<float>()[noise.NumElements() - 1 - i];
  const LayerReport report = Judge(Says(), x, ComputedBy(Dense(noisy, Bias()), x));
  EXPECT_EQ(report.verdict, Verdict::kWrong);
  EXPECT_EQ(report.cause, "");
}

}  // namespace
}  // namespace plumb
