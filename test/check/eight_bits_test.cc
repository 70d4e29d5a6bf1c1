// SPDX-License-Identifier: Apache-2.0
// Graphs with a DequantizeLinear and QuantizeLinear of their own, as other runtimes compute them: what rounds otherwise
// is aligned, what saturates or is not rounded is named.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "computed_otherwise_util.h"
#include "op/inner_product.h"
#include "op/matmul.h"
#include "op/quantize_linear.h"
#include "op/recurrent.h"

namespace plumb {
namespace {

constexpr char kSaturated[] =
    "computed with pairs of 8-bit products that saturate at 16 bits (vpmaddubsw, x86 without VNNI); the graph says "
    "exact sums";

Tensor Number(DType dtype, double value) {
  Tensor tensor = Tensor::Create(DType::kF64, Shape{}).value();
  tensor.data<double>()[0] = value;
  return tensor.ConvertedTo(dtype).value();
}

Tensor Whole(const Shape& shape, const std::function<int64_t(int64_t)>& value) {
  Tensor tensor = Tensor::Create(DType::kI64, shape).value();
  for (int64_t i = 0; i < tensor.NumElements(); ++i) tensor.data<int64_t>()[i] = value(i);
  return tensor;
}

Tensor Real(const Shape& shape, const std::function<double(int64_t)>& value) {
  Tensor tensor = Tensor::Create(DType::kF32, shape).value();
  for (int64_t i = 0; i < tensor.NumElements(); ++i) tensor.data<float>()[i] = static_cast<float>(value(i));
  return tensor;
}

struct Scale {
  float step;
  int64_t zero;
  float Of(int64_t q) const { return static_cast<float>(q - zero) * step; }
};

// q -> DequantizeLinear -> r.
Layer Dequantize(const std::string& q, const std::string& r, const Scale& scale, Graph* graph) {
  graph->constants[r + "_scale"] = Number(DType::kF32, static_cast<double>(scale.step));
  graph->constants[r + "_zero"] = Number(DType::kI64, static_cast<double>(scale.zero));
  return MakeLayer(OpKind::kPlumbDequantizeLinear, r, {q, r + "_scale", r + "_zero"}, {r});
}

Layer Quantize(const std::string& r, const std::string& q, const Scale& scale, Graph* graph) {
  graph->constants[q + "_scale"] = Number(DType::kF32, static_cast<double>(scale.step));
  graph->constants[q + "_zero"] = Number(DType::kI64, static_cast<double>(scale.zero));
  return MakeLayer(OpKind::kPlumbQuantizeLinear, q, {r, q + "_scale", q + "_zero"}, {q});
}

Graph Finished(Graph graph, const std::vector<std::string>& inputs, const Shape& shape) {
  for (const std::string& input : inputs) graph.inputs.push_back({input, DType::kI64, shape});
  graph.outputs = graph.layers.back().outputs;
  for (size_t i = 0; i < graph.layers.size(); ++i) graph.layers[i].index = static_cast<int>(i);
  return graph;
}

// Floats x -> QuantizeLinear -> q.
Graph Quantizing(const Scale& scale, const Shape& shape) {
  Graph graph;
  graph.layers = {Quantize("x", "q", scale, &graph)};
  graph = Finished(std::move(graph), {}, shape);
  graph.inputs = {{"x", DType::kF32, shape}};
  return graph;
}

LayerReport JudgeLast(const Graph& graph, const Stored& subject) {
  return CheckSubjectBlobs(graph, subject, {}, {}).value().layers.back();
}

// Integers times integers of 8 bits, with a DequantizeLinear in front and maybe a QuantizeLinear behind. With few_ one
// sum alone saturates, that of row 3 and column 7.
class SaturatingProduct : public testing::Test {
 protected:
  static constexpr int64_t kRows = 6, kTerms = 34, kColumns = 20;
  static constexpr Scale kX = {0.02f, 131}, kY = {3.5f, 120};

  static double WeightStep(int64_t column) { return 0.001 * static_cast<double>(column + 3); }
  static int64_t Weight(int64_t k, int64_t column) {
    if (few_ && column == 7) return (k % 8 < 6 ? 1 : -1) * (127 - k * 7 % 64);
    const int64_t most = few_ ? 63 : 127;
    return (k * 89 + column * 53 + k * column * 7) % (2 * most + 1) - most;
  }
  static int64_t X(int64_t i) {
    if (few_ && i / kTerms == 3) return 200 + i * 7 % 56;
    return i * 151 % (few_ ? 128 : 256);
  }
  void TearDown() override { few_ = false; }

  static double Sum(int64_t row, int64_t column, bool saturates) {
    int64_t sum = 0;
    for (int64_t k = 0; k < kTerms; k += 2) {
      int64_t pair = 0;
      for (int64_t j = k; j < k + 2; ++j) {
        pair += X(row * kTerms + j) * Weight(j, column);
        sum -= kX.zero * Weight(j, column);
      }
      sum += saturates ? std::clamp<int64_t>(pair, INT16_MIN, INT16_MAX) : pair;
    }
    return static_cast<double>(sum) * static_cast<double>(kX.step) * WeightStep(column);
  }

  // The whole behind it in one step with `quantizes`. `spoil`: what else the device does.
  static LayerReport Judged(bool quantizes, bool saturates, const std::function<void(Stored*)>& spoil = {}) {
    Graph graph;
    graph.layers.push_back(Dequantize("q", "x", kX, &graph));
    Layer product = MakeLayer(OpKind::kMatMul, "product", {"x"}, {"y"});
    auto param = std::make_shared<MatMulParam>();
    param->weight_position = 1;
    product.param = param;
    product.resources["weight"] = Real({kTerms, kColumns}, [](int64_t i) {
      return static_cast<double>(Weight(i / kColumns, i % kColumns)) * WeightStep(i % kColumns);
    });
    graph.layers.push_back(product);
    if (quantizes) graph.layers.push_back(Quantize("y", "z", kY, &graph));
    graph = Finished(std::move(graph), {"q"}, {kRows, kTerms});
    Stored subject;
    subject.blobs["q"] = Whole({kRows, kTerms}, X);
    const auto sum = [&](int64_t i) { return Sum(i / kColumns, i % kColumns, saturates); };
    if (quantizes) {
      subject.blobs["z"] = Whole({kRows, kColumns}, [&](int64_t i) {
        const double q = std::nearbyint(sum(i) / static_cast<double>(kY.step)) + static_cast<double>(kY.zero);
        return static_cast<int64_t>(std::clamp(q, 0.0, 255.0));
      });
    } else {
      subject.blobs["x"] = Real({kRows, kTerms}, [](int64_t i) { return static_cast<double>(kX.Of(X(i))); });
      subject.blobs["y"] = Real({kRows, kColumns}, sum);
    }
    if (spoil) spoil(&subject);
    return JudgeLast(graph, subject);
  }

  static inline bool few_ = false;
};

class SaturatingProducts : public SaturatingProduct, public testing::WithParamInterface<bool> {};

TEST_P(SaturatingProducts, AreNamed) {
  const LayerReport exact = Judged(GetParam(), false);
  EXPECT_EQ(exact.verdict, Verdict::kAligned) << exact.reason;
  ExpectNamed(Judged(GetParam(), true), kSaturated);
}

TEST_F(SaturatingProduct, OneSumThatSaturatesIsNamedAndOneThatDoesNotIsNot) {
  few_ = true;
  const LayerReport exact = Judged(true, false);
  EXPECT_EQ(exact.verdict, Verdict::kAligned) << exact.reason;
  const LayerReport one = Judged(true, true);
  EXPECT_NE(one.reason.find("1 integers differ"), std::string::npos) << one.reason;
  ExpectNamed(one, kSaturated);
  const LayerReport other =
      Judged(true, false, [](Stored* s) { s->blobs["z"].data<int64_t>()[5 * kColumns + 7] -= 5; });
  EXPECT_EQ(other.verdict, Verdict::kWrong);
  EXPECT_EQ(other.reason.find("saturate"), std::string::npos) << other.reason;
}

INSTANTIATE_TEST_SUITE_P(EightBits, SaturatingProducts, testing::Bool());

// ONNX Runtime rounds the float bias of a quantised product to steps of the input's scale times the weights'.
TEST(EightBits, ABiasInStepsOfItsProductIsNamed) {
  constexpr int64_t kRows = 8, kTerms = 64, kColumns = 12;
  const Scale scale = {0.03f, 120};
  const auto x = [](int64_t i) { return i * 67 % 256; };
  const auto weight_step = [](int64_t o) { return 0.002 + 0.0003 * static_cast<double>(o); };
  const auto weight = [](int64_t o, int64_t k) { return (o * 41 + k * 37 + o * k) % 127 - 63; };
  Graph graph;
  graph.layers.push_back(Dequantize("q", "x", scale, &graph));
  Layer product = MakeLayer(OpKind::kInnerProduct, "product", {"x"}, {"y"});
  auto param = std::make_shared<InnerProductParam>();
  param->num_output = kColumns;
  param->has_bias = true;
  product.param = param;
  product.resources["weight"] = Real({kColumns, kTerms}, [&](int64_t i) {
    return static_cast<double>(weight(i / kTerms, i % kTerms)) * weight_step(i / kTerms);
  });
  product.resources["bias"] = Gauss({kColumns});
  graph.layers.push_back(product);
  graph = Finished(std::move(graph), {"q"}, {kRows, kTerms});
  Stored subject;
  subject.blobs["q"] = Whole({kRows, kTerms}, x);
  subject.blobs["x"] = Real({kRows, kTerms}, [&](int64_t i) { return static_cast<double>(scale.Of(x(i))); });
  subject.blobs["y"] = Real({kRows, kColumns}, [&](int64_t i) {
    const int64_t row = i / kColumns, o = i % kColumns;
    const double step = static_cast<double>(scale.step) * weight_step(o);
    int64_t sum = 0;
    for (int64_t k = 0; k < kTerms; ++k) sum += (x(row * kTerms + k) - scale.zero) * weight(o, k);
    const auto bias = static_cast<double>(product.resources["bias"].data<float>()[o]);
    return (static_cast<double>(sum) + std::nearbyint(bias / step)) * step;
  });
  ExpectNamed(JudgeLast(graph, subject),
              "computed with the bias rounded to int32 steps of the input's times the weights'; the graph says f32");
}

// One step of one cell from h = c = 0: only x W + bias counts.
LayerReport JudgeLstm(const std::function<double(int64_t gate)>& product, const Tensor& x, const Tensor& w) {
  const double step = 0.004;
  Graph graph =
      GraphOf({LayerOf<RecurrentParam>(OpKind::kPlumbDynamicQuantizeLSTM, [](RecurrentParam* p) { p->hidden_size = 1; },
                                       {"x", "w", "r", "w_scale", "w_zero", "r_scale", "r_zero"})},
              x.shape());
  graph.layers[0].outputs = {"y", "h", "c"};
  const Shape one = {1};
  graph.constants = {{"w", w},
                     {"r", Whole({1, 1, 4}, [](int64_t i) { return i; })},
                     {"w_scale", Real(one, [&](int64_t) { return step; })},
                     {"w_zero", Whole(one, [](int64_t) { return int64_t{0}; })},
                     {"r_scale", Real(one, [](int64_t) { return 0.01; })},
                     {"r_zero", Whole(one, [](int64_t) { return int64_t{0}; })}};
  const auto sigmoid = [](double v) { return 1 / (1 + std::exp(-v)); };
  const double i = sigmoid(step * product(0)), o = sigmoid(step * product(1)), g = std::tanh(step * product(3));
  const double c = i * g;
  const auto state = [](const Shape& shape, double v) { return Real(shape, [v](int64_t) { return v; }); };
  Stored subject;
  subject.blobs = {{"x", x},
                   {"y", state({1, 1, 1, 1}, o * std::tanh(c))},
                   {"h", state({1, 1, 1}, o * std::tanh(c))},
                   {"c", state({1, 1, 1}, c)}};
  return JudgeLast(graph, subject);
}

TEST(EightBits, AnLstmThatSaturatesOrDoesNotRoundIsNamed) {
  constexpr int64_t kSize = 6;
  const Tensor x = Real({1, 1, kSize}, [](int64_t i) { return i == 0 ? -0.3 : 0.7 + 0.05 * static_cast<double>(i); });
  const Tensor w = Whole({1, kSize, 4}, [](int64_t i) { return i % 4 == 2 ? 3 : (i / 4 < 4 ? 127 - i : 20 - 11 * i); });
  const DynamicQuantization q(x.data<float>(), kSize);
  const auto weight = [&](int64_t k, int64_t gate) { return w.data<int64_t>()[k * 4 + gate]; };
  const auto sum = [&](int64_t gate, bool saturates) {
    int64_t all = 0;
    for (int64_t k = 0; k < kSize; k += 2) {
      int64_t pair = 0;
      for (int64_t j = k; j < k + 2; ++j) {
        pair += (q.Of(x.data<float>()[j]) + q.zero) * weight(j, gate);
        all -= q.zero * weight(j, gate);
      }
      all += saturates ? std::clamp<int64_t>(pair, INT16_MIN, INT16_MAX) : pair;
    }
    return static_cast<double>(all) * static_cast<double>(q.scale);
  };
  const LayerReport exact = JudgeLstm([&](int64_t gate) { return sum(gate, false); }, x, w);
  EXPECT_EQ(exact.verdict, Verdict::kAligned) << exact.reason;
  ExpectNamed(JudgeLstm([&](int64_t gate) { return sum(gate, true); }, x, w), kSaturated);
  const auto floats = [&](int64_t gate) {
    double all = 0;
    for (int64_t k = 0; k < kSize; ++k)
      all += static_cast<double>(x.data<float>()[k]) * static_cast<double>(weight(k, gate));
    return all;
  };
  ExpectNamed(JudgeLstm(floats, x, w),
              "computed with x and h as they are; the graph says rounded to 8 bits as they come");
}

// Reals made of the integers where they are read: two of them added as q1 a + (q2 b + offset).
TEST(EightBits, WhatIsDequantizedWhereItIsReadIsAligned) {
  const Scale a = {0.0371f, 97}, b = {0.0523f, 140};
  const Shape shape = {4, 64};
  Graph graph;
  graph.layers = {Dequantize("p", "a", a, &graph), Dequantize("q", "b", b, &graph),
                  MakeLayer(OpKind::kAdd, "add", {"a", "b"}, {"y"})};
  graph = Finished(std::move(graph), {"p", "q"}, shape);
  const auto p = [](int64_t i) { return i * 37 % 256; };
  const auto q = [](int64_t i) { return i * 91 % 256; };
  Stored subject;
  subject.blobs = {{"p", Whole(shape, p)}, {"q", Whole(shape, q)}};
  subject.blobs["a"] = Real(shape, [&](int64_t i) { return static_cast<double>(a.Of(p(i))); });
  subject.blobs["b"] = Real(shape, [&](int64_t i) { return static_cast<double>(b.Of(q(i))); });
  const auto sum = [&](int64_t i) {
    const float offset = -static_cast<float>(a.zero) * a.step - static_cast<float>(b.zero) * b.step;
    return std::fma(static_cast<float>(p(i)), a.step, static_cast<float>(q(i)) * b.step + offset);
  };
  subject.blobs["y"] = Real(shape, [&](int64_t i) { return static_cast<double>(sum(i)); });
  const LayerReport fused = JudgeLast(graph, subject);
  EXPECT_EQ(fused.verdict, Verdict::kAligned) << fused.reason;
  subject.blobs["y"] = Real(shape, [&](int64_t i) { return static_cast<double>(sum(i)) + (i == 77 ? 2e-4 : 0); });
  EXPECT_EQ(JudgeLast(graph, subject).verdict, Verdict::kWrong);
}

// q * scale - zero * scale: where q is next to the zero point little is left of both.
TEST(EightBits, AZeroPointMayBeSubtractedBehindTheScale) {
  const Scale scale = {0.0371f, 121};
  const Shape shape = {256};
  Graph graph;
  graph.layers = {Dequantize("q", "y", scale, &graph)};
  graph = Finished(std::move(graph), {"q"}, shape);
  Stored subject;
  subject.blobs["q"] = Whole(shape, [](int64_t i) { return i; });
  const auto real = [&](int64_t i) {
    return static_cast<double>(static_cast<float>(i) * scale.step - static_cast<float>(scale.zero) * scale.step);
  };
  subject.blobs["y"] = Real(shape, real);
  const LayerReport behind = JudgeLast(graph, subject);
  EXPECT_EQ(behind.verdict, Verdict::kAligned) << behind.reason;
  subject.blobs["y"] = Real(shape, [&](int64_t i) { return real(i) * (1 + 4e-6); });
  EXPECT_EQ(JudgeLast(graph, subject).verdict, Verdict::kWrong);
}

// DynamicQuantizeLinear's scale, (max - min) / 255.
TEST(EightBits, TheScaleOfZerosMayBeOne) {
  Layer divide = MakeLayer(OpKind::kDiv, "scale", {"x"}, {"y"});
  divide.resources["element"] = Number(DType::kF32, 255);
  const Graph graph = GraphOf({divide}, {1});
  const LayerReport zeros = Judge(graph, Real({1}, [](int64_t) { return 0; }), Real({1}, [](int64_t) { return 1; }));
  EXPECT_EQ(zeros.verdict, Verdict::kGrey);
  EXPECT_EQ(zeros.reason,
            "computed as 1, the scale of a tensor that is 0 everywhere (ONNX Runtime); the graph says 0, and its "
            "integers are the zero point by either");
  EXPECT_EQ(Judge(graph, Real({1}, [](int64_t) { return 5; }), Real({1}, [](int64_t) { return 1; })).verdict,
            Verdict::kWrong);
}

TEST(EightBits, AnyIntegerStandsForNaN) {
  const Scale scale = {0.5f, 3};
  const Shape shape = {8};
  const Graph graph = Quantizing(scale, shape);
  Stored subject;
  subject.blobs["x"] = Real(shape, [](int64_t i) { return i == 5 ? NAN : static_cast<double>(i); });
  const auto q = [](int64_t i) { return i == 5 ? int64_t{77} : 2 * i + 3; };
  subject.blobs["q"] = Whole(shape, q);
  EXPECT_EQ(JudgeLast(graph, subject).verdict, Verdict::kAligned);
  subject.blobs["q"] = Whole(shape, [&](int64_t i) { return q(i) + (i == 6 ? 1 : 0); });
  EXPECT_EQ(JudgeLast(graph, subject).verdict, Verdict::kWrong);
  subject.blobs["x"] = Real(shape, [](int64_t) { return NAN; });
  EXPECT_EQ(JudgeLast(graph, subject).verdict, Verdict::kNotTested);
}

// In one step with the product that reads it.
TEST(EightBits, WhatFollowsFromSuchIntegersIsFree) {
  const Shape shape = {2, 3};
  Graph graph = Quantizing({0.5f, 3}, shape);
  graph.constants["w"] = Whole({3, 2}, [](int64_t i) { return i - 2; });  // one of them is 0
  graph.layers.push_back(MakeLayer(OpKind::kPlumbMatMulInteger, "product", {"q", "w"}, {"y"}));
  graph.layers.back().index = 1;
  graph.outputs = {"y"};
  Stored subject;
  subject.blobs["x"] = Real(shape, [](int64_t i) { return i == 1 ? NAN : static_cast<double>(i); });
  const auto judged = [&](int64_t of_nan, int64_t of_others) {
    const int64_t q[] = {3, of_nan, 7, 9, 11, 13};
    subject.blobs["y"] = Whole({2, 2},
                               [&](int64_t i) {
                                 int64_t sum = i >= 2 ? of_others : 0;
                                 for (int64_t k = 0; k < 3; ++k) sum += q[i / 2 * 3 + k] * (k * 2 + i % 2 - 2);
                                 return sum;
                               })
                             .ConvertedTo(DType::kI32)
                             .value();
    return JudgeLast(graph, subject).verdict;
  };
  EXPECT_EQ(judged(3, 0), Verdict::kAligned);
  EXPECT_EQ(judged(250, 0), Verdict::kAligned);
  EXPECT_EQ(judged(250, 1), Verdict::kWrong);
}

// Ties of which some fall on one side and some on the other, by errors in front of the rounding; all of them by a rule.
TEST(EightBits, TiesThatNoRuleExplainsAreGrey) {
  const Scale scale = {0.25f, 0};
  const Shape shape = {600};
  const Graph graph = Quantizing(scale, shape);
  const auto steps = [](int64_t i) { return static_cast<double>(i % 200) + (i % 3 == 0 ? 0.5 : 0); };
  Stored subject;
  subject.blobs["x"] = Real(shape, [&](int64_t i) { return steps(i) * 0.25; });
  subject.blobs["q"] = Whole(shape, [&](int64_t i) {
    return static_cast<int64_t>(i / 7 % 2 == 0 ? std::floor(steps(i)) : std::nearbyint(steps(i)));
  });
  const LayerReport some = JudgeLast(graph, subject);
  EXPECT_EQ(some.verdict, Verdict::kGrey) << some.reason;
  Graph many = graph;  // causes of wrong layers are sought a few times
  Stored all = subject;
  for (int i = 1; i < 9; ++i) {
    const std::string q = "q" + std::to_string(i);
    many.layers.push_back(Quantize("x", q, scale, &many));
    many.layers.back().index = i;
    many.outputs.push_back(q);
    all.blobs[q] = subject.blobs["q"];
  }
  EXPECT_EQ(CheckSubjectBlobs(many, all, {}, {}).value().Count(Verdict::kGrey), 9);
  subject.blobs["q"] = Whole(shape, [&](int64_t i) { return static_cast<int64_t>(std::ceil(steps(i) - 0.5)); });
  ExpectNamed(JudgeLast(graph, subject), "computed with rounding half down; the graph says half to even");
}

}  // namespace
}  // namespace plumb
