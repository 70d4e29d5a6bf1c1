// SPDX-License-Identifier: Apache-2.0
// Wrong kernels in front of the CPU device's list (ARM's where this is built for it): Winograd's algorithm with a wrong
// entry of each matrix of the device, with wrong edges of tiles and, along one axis, a wrong tap; a depthwise
// convolution with a wrong border; an activation left out. The judge names exactly the layer that each computes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "check/planted_fault.h"
#include "device/cpu/cpu_name.h"
#include "plumb/check.h"
#include "plumb/plumb.h"
#include "simd/cook_toom.h"
#include "util/network_builder.h"

namespace plumb {
namespace {

using Matrix = std::vector<std::vector<float>>;

template <class M>
Matrix Copied(const M& from) {
  Matrix to;
  for (const auto& row : from.at) to.emplace_back(std::begin(row), std::end(row));
  return to;
}

// The device's own matrices of one axis.
struct Axis {
  int outputs, taps, size;
  Matrix input, kernel, output;
};

template <int m, int r>
Axis AxisOf() {
  using Form = simd::CookToom<m, r>;
  return {m, r, Form::kSize, Copied(Form::Input()), Copied(Form::Kernel()), Copied(Form::Output())};
}

struct Form {
  const char* name;
  Axis h, w;
  int in, out;
  int64_t size;
};

std::vector<float> Sandwich(const Matrix& left, const std::vector<float>& in, const Matrix& right) {
  const size_t rows = left.size(), inner = left[0].size(), columns = right.size(), across = right[0].size();
  std::vector<float> half(rows * across), out(rows * columns);
  for (size_t i = 0; i < rows; ++i) {
    for (size_t j = 0; j < across; ++j) {
      for (size_t k = 0; k < inner; ++k) half[i * across + j] += left[i][k] * in[k * across + j];
    }
    for (size_t j = 0; j < columns; ++j) {
      for (size_t k = 0; k < across; ++k) out[i * columns + j] += half[i * across + k] * right[j][k];
    }
  }
  return out;
}

enum class Edge { kRight, kLost };  // kLost: a tile that reaches beyond the map misses the map's last row and column

// Convolution + ReLU in float, by the form's matrices.
void Compute(const Form& form, const Layer& layer, Edge edge, const Tensor& input, Tensor* output) {
  const Axis &h = form.h, &w = form.w;
  const int64_t size = form.size, plane = size * size, taps = h.taps * w.taps, positions = h.size * w.size;
  const float *weight = layer.resources.at("weight").data<float>(), *bias = layer.resources.at("bias").data<float>();
  std::vector<std::vector<float>> kernels;
  for (int64_t i = 0; i < int64_t{form.out} * form.in; ++i)
    kernels.push_back(Sandwich(h.kernel, {weight + i * taps, weight + (i + 1) * taps}, w.kernel));
  for (int64_t top = 0; top < size; top += h.outputs) {
    for (int64_t left = 0; left < size; left += w.outputs) {
      std::vector<std::vector<float>> tiles;
      const int64_t y0 = top - h.taps / 2, x0 = left - w.taps / 2;
      const bool beyond = y0 + h.size > size || x0 + w.size > size;
      const int64_t end = size - (beyond && edge == Edge::kLost ? 1 : 0);
      for (int64_t c = 0; c < form.in; ++c) {
        std::vector<float> tile(static_cast<size_t>(positions));
        for (int64_t i = 0; i < positions; ++i) {
          const int64_t y = y0 + i / w.size, x = x0 + i % w.size;
          if (y >= 0 && y < end && x >= 0 && x < end)
            tile[static_cast<size_t>(i)] = input.data<float>()[c * plane + y * size + x];
        }
        tiles.push_back(Sandwich(h.input, tile, w.input));
      }
      for (int64_t o = 0; o < form.out; ++o) {
        std::vector<float> sums(static_cast<size_t>(positions));
        for (size_t c = 0; c < tiles.size(); ++c) {
          const auto& kernel = kernels[static_cast<size_t>(o) * tiles.size() + c];
          for (size_t i = 0; i < sums.size(); ++i) sums[i] += kernel[i] * tiles[c][i];
        }
        const std::vector<float> made = Sandwich(h.output, sums, w.output);
        for (int64_t i = 0; i < h.outputs * w.outputs; ++i) {
          const int64_t y = top + i / w.outputs, x = left + i % w.outputs;
          if (y < size && x < size)
            output->data<float>()[o * plane + y * size + x] = std::max(0.0f, made[static_cast<size_t>(i)] + bias[o]);
        }
      }
    }
  }
}

// 1x1, the form's or a depthwise convolution with a ReLU, 1x1; layer1 is what is computed wrongly.
std::shared_ptr<const Graph> GraphOf(int64_t size, int in, int out, int kernel_h, int kernel_w, int group = 1) {
  Builder b(1, in, size);
  const std::string last = b.Simple("ReLU", {b.Conv(b.Conv("x", in, in, 1), in, out, 1, 1, group)});
  Layer& conv = b.graph->layers[1];
  auto param = std::make_shared<ConvolutionParam>(static_cast<const ConvolutionParam&>(*conv.param));
  param->kernel_h = kernel_h, param->kernel_w = kernel_w;
  conv.param = param;
  const int from = in / group;
  const float scale = std::sqrt(6 / static_cast<float>(from * kernel_h * kernel_w));
  conv.resources["weight"] = Random({out, from, kernel_h, kernel_w}, 5, scale);
  b.Conv(last, out, 16, 1);
  return b.graph;
}

// The verdicts of the three steps, with what the second is computed by.
std::string Verdicts(const std::shared_ptr<const Graph>& graph, const PlantedFault* fault) {
  const std::shared_ptr<Device> device = OpenDevice(kCpuDevice).value();
  if (fault != nullptr) Plant(*fault, *graph, device.get());
  auto network = Network::Create(graph, device, {}).value();
  Checker checker;
  const Tensor input = Random(graph->inputs[0].shape, 9, 1);
  EXPECT_TRUE(checker.Attach(network.get(), {{"x", input}}).ok());
  EXPECT_TRUE(network->SetInput("x", input).ok());
  const Status run = network->Forward();
  EXPECT_TRUE(run.ok()) << run.ToString();
  std::string verdicts;
  const RunReport report = checker.Finish().value();
  for (const LayerReport& layer : report.layers)
    verdicts += layer.step.name + " " + layer.step.kernel + " " + VerdictName(layer.verdict) + "; ";
  return verdicts;
}

std::string Expected(const char* kernel, const char* verdict) {
  return "layer0 " + On("convolution_blocked") + " aligned; layer2 " + On(kernel) + " " + verdict + "; layer3 " +
         On("convolution_blocked") + " aligned; ";
}

// The smallest that the device computes so, with rests of tiles.
const Form kForms[] = {
    {"F4", AxisOf<4, 3>(), AxisOf<4, 3>(), 16, 32, 21},      {"F2", AxisOf<2, 3>(), AxisOf<2, 3>(), 16, 64, 13},
    {"F2_5", AxisOf<2, 5>(), AxisOf<2, 5>(), 16, 32, 13},    {"row3", AxisOf<1, 1>(), AxisOf<4, 3>(), 24, 32, 13},
    {"column3", AxisOf<4, 3>(), AxisOf<1, 1>(), 24, 32, 13}, {"row5", AxisOf<1, 1>(), AxisOf<4, 5>(), 24, 32, 13},
    {"column5", AxisOf<4, 5>(), AxisOf<1, 1>(), 24, 32, 13}, {"row7", AxisOf<1, 1>(), AxisOf<4, 7>(), 24, 32, 13},
    {"column7", AxisOf<4, 7>(), AxisOf<1, 1>(), 24, 32, 13}};

std::ostream& operator<<(std::ostream& out, const Form& form) { return out << form.name; }

class WrongWinograd : public testing::TestWithParam<Form> {
 protected:
  // With the form changed; layer1 is what computes.
  void Expect(const char* name, const char* verdict, const std::function<void(Form* form, Layer* layer)>& change,
              Edge edge = Edge::kRight) {
    Form form = GetParam();
    const auto graph = GraphOf(form.size, form.in, form.out, form.h.taps, form.w.taps);
    Layer layer = graph->layers[1];
    layer.resources["weight"] = layer.resources["weight"].Clone().value();
    change(&form, &layer);
    PlantedFault fault{name, "layer1", nullptr, nullptr};
    fault.compute = [&](const Tensor& input, Tensor* output) { Compute(form, layer, edge, input, output); };
    if (std::string(verdict) == "aligned") {
      EXPECT_EQ(Verdicts(graph, nullptr), Expected("convolution_winograd", "aligned"));
    }
    EXPECT_EQ(Verdicts(graph, &fault), Expected("planted_fault", verdict)) << name;
  }
};

// The axis that has tiles.
Axis& Tiled(Form* form) { return form->w.outputs > 1 ? form->w : form->h; }

TEST_P(WrongWinograd, IsNamed) {
  Expect("nothing wrong", "aligned", [](Form*, Layer*) {});
  const auto spoil = [](Matrix* matrix) {
    auto& row = (*matrix)[matrix->size() / 2];
    for (float& factor : row) {
      if (factor != 0) return void(factor *= 1.02f);
    }
  };
  Expect("an entry of the input's matrix", "wrong", [&](Form* form, Layer*) { spoil(&Tiled(form).input); });
  Expect("an entry of the filters' matrix", "wrong", [&](Form* form, Layer*) { spoil(&Tiled(form).kernel); });
  Expect("an entry of the outputs' matrix", "wrong", [&](Form* form, Layer*) { spoil(&Tiled(form).output); });
  Expect("a wrong tap", "wrong", [](Form* form, Layer* layer) {
    float* taps = layer->resources["weight"].data<float>() + 7 * form->h.taps * form->w.taps;  // of one channel
    std::swap(taps[0], taps[1]);
  });
  Expect(
      "the edges of tiles", "wrong", [](Form*, Layer*) {}, Edge::kLost);
}

INSTANTIATE_TEST_SUITE_P(All, WrongWinograd, testing::ValuesIn(kForms),
                         [](const auto& form) { return std::string(form.param.name); });

// In the last row, what lies below the map is what lies above it.
TEST(WrongKernels, TheBorderOfADepthwiseConvolutionIsNamed) {
  const int64_t channels = 48, size = 14, plane = size * size;
  const auto graph = GraphOf(size, channels, channels, 3, 3, channels);
  const Layer& layer = graph->layers[1];
  const float *weight = layer.resources.at("weight").data<float>(), *bias = layer.resources.at("bias").data<float>();
  for (const bool wrong : {false, true}) {
    PlantedFault fault{"border", "layer1", nullptr, nullptr};
    fault.compute = [&](const Tensor& input, Tensor* output) {
      for (int64_t i = 0; i < output->NumElements(); ++i) {
        const int64_t c = i / plane, row = i % plane / size, column = i % size;
        float sum = bias[c];
        for (int64_t tap = 0; tap < 9; ++tap) {
          int64_t y = row + tap / 3 - 1;
          const int64_t x = column + tap % 3 - 1;
          if (wrong && y == size) y = size - 1;
          if (y < 0 || y >= size || x < 0 || x >= size) continue;
          sum = std::fma(weight[c * 9 + tap], input.data<float>()[c * plane + y * size + x], sum);
        }
        output->data<float>()[i] = std::max(0.0f, sum);
      }
    };
    EXPECT_EQ(Verdicts(graph, &fault), Expected("planted_fault", wrong ? "wrong" : "aligned"));
  }
}

// A depthwise and a 1x1 convolution are one step: what either computes wrongly is that step's.
TEST(WrongKernels, AFaultInsideOfABandIsNamed) {
  const auto graph = GraphOf(28, 48, 48, 3, 3, 48);
  const auto expected = [](const char* kernel, const char* verdict) {
    return "layer0 " + On("convolution_blocked") + " aligned; layer3 " + On(kernel) + " " + verdict + "; ";
  };
  EXPECT_EQ(Verdicts(graph, nullptr), expected("pointwise_band", "aligned"));
  const auto spoil = [&](const char* layer, const std::function<void(Layer*)>& change) {
    PlantedFault fault{"inside", layer, nullptr, change};
    return Verdicts(graph, &fault);
  };
  const std::string wrong = expected("planted_fault", "wrong");
  EXPECT_EQ(spoil("layer1",
                  [](Layer* layer) {
                    float* taps = layer->resources["weight"].data<float>() + 7 * 9;  // of one channel
                    std::swap(taps[0], taps[1]);
                  }),
            wrong);
  EXPECT_EQ(spoil("layer1", [](Layer* layer) { layer->resources["bias"].data<float>()[3] *= 1.1f; }), wrong);
  EXPECT_EQ(spoil("layer3", [](Layer* layer) { layer->resources["weight"].data<float>()[5] *= 1.1f; }), wrong);
}

// The device's own kernels, prepared without the ReLU.
TEST(WrongKernels, AnActivationLeftOutIsNamed) {
  const std::pair<const char*, std::shared_ptr<const Graph>> graphs[] = {
      {"convolution_winograd", GraphOf(22, 40, 48, 3, 3)},
      {"convolution_blocked", GraphOf(22, 40, 48, 1, 1)},
      {"depthwise", GraphOf(22, 48, 48, 3, 3, 48)}};
  for (const auto& [kernel, graph] : graphs) {
    PlantedFault fault{"no ReLU", "layer1", nullptr, nullptr};
    fault.without_tail = true;
    EXPECT_EQ(Verdicts(graph, &fault), Expected("planted_fault", "wrong")) << kernel;
  }
}

}  // namespace
}  // namespace plumb
