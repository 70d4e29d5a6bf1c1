// SPDX-License-Identifier: Apache-2.0
// Q-DQ graphs whose subject computed them in integers: each step is judged by the rule that it follows, a fault is
// wrong and named, and one that hides among rounding ties is told by the other steps of the run.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>

#include "op/inner_product.h"
#include "op/pooling.h"
#include "op/quantize_linear.h"
#include "op/reshape.h"
#include "plumb/model.h"
#include "util/make_layer.h"
#include "util/stored_blobs.h"

namespace plumb {
namespace {

constexpr int64_t kTerms = 8, kOutputs = 48;
constexpr float kStepOfX = 0.5f, kStepOfY = 0.5f;  // with weights of steps of 0.5: every second sum lies on a tie
constexpr int64_t kZeroOfX = 131, kZeroOfY = 100;

Tensor Scalar(DType dtype, double value) {
  Tensor tensor = Tensor::Create(DType::kF64, Shape{}).value();
  tensor.data<double>()[0] = value;
  return tensor.ConvertedTo(dtype).value();
}

Tensor WholeNumbers(const Shape& shape, const std::function<int64_t(int64_t)>& value) {
  Tensor tensor = Tensor::Create(DType::kI64, shape).value();
  for (int64_t i = 0; i < tensor.NumElements(); ++i) tensor.data<int64_t>()[i] = value(i);
  return tensor;
}

int64_t InputAt(int64_t k) { return 90 + k * k * 7 % 83; }
// Of two channels that tell half to even from half away (by 0.5 and 90.5), or of all.
int64_t WeightAt(int64_t output, int64_t k, bool even) {
  const int64_t weight = ((output * 2654435761 + k * 40503 + output * k * 97) >> 4) % 9 - 4;
  return even && output != 1 && output != 11 ? 2 * (weight / 2) : weight;
}
int64_t SumAt(int64_t output, bool even) {
  int64_t sum = 0;
  for (int64_t k = 0; k < kTerms; ++k) sum += (InputAt(k) - kZeroOfX) * WeightAt(output, k, even);
  return sum;
}

// x_q -> DequantizeLinear -> x -> products -> QuantizeLinear, each product its own.
class Products {
 public:
  explicit Products(int count, bool last_is_even = false) {
    graph_.inputs = {{"x_q", DType::kI64, {1, kTerms}}};
    graph_.constants["x_scale"] = Scalar(DType::kF32, static_cast<double>(kStepOfX));
    graph_.constants["x_zero"] = Scalar(DType::kI64, static_cast<double>(kZeroOfX));
    graph_.constants["y_scale"] = Scalar(DType::kF32, static_cast<double>(kStepOfY));
    graph_.constants["y_zero"] = Scalar(DType::kI64, static_cast<double>(kZeroOfY));
    Add(MakeLayer(OpKind::kPlumbDequantizeLinear, "x", {"x_q", "x_scale", "x_zero"}, {"x"}));
    for (int i = 0; i < count; ++i) AddProduct(std::to_string(i), last_is_even && i + 1 == count);
    subject_.blobs["x_q"] = WholeNumbers({1, kTerms}, InputAt);
    if (count == 1) return;
    subject_.blobs["x"] = Tensor::Create(DType::kF32, {1, kTerms}).value();
    for (int64_t k = 0; k < kTerms; ++k)
      subject_.blobs["x"].data<float>()[k] = static_cast<float>(InputAt(k) - kZeroOfX) * kStepOfX;
  }

  Graph& graph() { return graph_; }
  void Add(Layer layer) {
    layer.index = static_cast<int>(graph_.layers.size());
    graph_.layers.push_back(std::move(layer));
  }
  void Quantise(const std::string& from, const std::string& to) {
    Add(MakeLayer(OpKind::kPlumbQuantizeLinear, to, {from, "y_scale", "y_zero"}, {to}));
    graph_.outputs.push_back(to);
  }
  void Write(const std::string& blob, const Tensor& integers) { subject_.blobs[blob] = integers; }
  void Forget(const std::string& blob) { subject_.blobs.erase(blob); }
  RunReport Judged(const std::string& description = "") const {
    SubjectOptions options;
    options.description = description;
    options.check.record = &record_;
    return CheckSubjectBlobs(graph_, subject_, {}, options).value();
  }
  // What a kernel makes of the sums.
  static Tensor Made(bool even, const std::function<double(double)>& round) {
    return WholeNumbers({1, kOutputs}, [&](int64_t i) {
      const double rounded = round(static_cast<double>(SumAt(i, even)) * 0.5) + static_cast<double>(kZeroOfY);
      return static_cast<int64_t>(std::min(std::max(rounded, 0.0), 255.0));
    });
  }

 private:
  void AddProduct(const std::string& number, bool even) {
    const std::string w = "w" + number;
    Tensor real = Tensor::Create(DType::kF32, {kOutputs, kTerms}).value();
    for (int64_t i = 0; i < real.NumElements(); ++i)
      real.data<float>()[i] = static_cast<float>(WeightAt(i / kTerms, i % kTerms, even)) * 0.5f;
    record_.folded.constants[w + "_q"] =
        WholeNumbers({kOutputs, kTerms}, [even](int64_t i) { return WeightAt(i / kTerms, i % kTerms, even); });
    record_.folded.constants[w + "_scale"] = Scalar(DType::kF32, 0.5);
    record_.folded.constants[w] = real;
    record_.folded.layers.push_back(MakeLayer(OpKind::kPlumbDequantizeLinear, w, {w + "_q", w + "_scale"}, {w}));
    Layer product = MakeLayer(OpKind::kInnerProduct, "y" + number, {"x"}, {"y" + number});
    auto param = std::make_shared<InnerProductParam>();
    param->num_output = static_cast<int>(kOutputs);
    product.param = param;
    product.resources["weight"] = real;
    Add(product);
  }

  Graph graph_;
  ImportRecord record_;
  Stored subject_;
};

double Even(double v) { return std::nearbyint(v); }
double Away(double v) { return std::round(v); }
double Up(double v) { return std::floor(v + 0.5); }

constexpr char kByOnnxRuntime[] =
    "to the integer by ONNX Runtime's rule (the sum times an f32 scale, round half to even)";
constexpr char kNamedAway[] = "computed with rounding half away from zero; the graph says half to even";

TEST(IntegerSubject, SumsRoundedToAnEvenHalfFollowOnnxRuntimesRule) {
  Products products(1);
  products.Quantise("y0", "z0");
  products.Write("z0", Products::Made(false, Even));
  const RunReport run = products.Judged();
  EXPECT_EQ(run.verdict, Verdict::kAligned);
  EXPECT_EQ(run.layers.back().reason, kByOnnxRuntime);
  EXPECT_EQ(run.layers.back().outputs[0].rule, std::string(kByOnnxRuntime).substr(18));
}

TEST(IntegerSubject, HalvesAwayFromZeroAreWrongAndNamed) {
  Products products(1);
  products.Quantise("y0", "z0");
  products.Write("z0", Products::Made(false, Away));
  const LayerReport layer = products.Judged().layers.back();
  EXPECT_NE(layer.verdict, Verdict::kAligned) << layer.reason;
  EXPECT_EQ(layer.outputs[0].rule, "");
  EXPECT_EQ(layer.cause, kNamedAway);
}

// Two ties are within what any healthy rounding may do, but three like it show which rule the runtime follows.
TEST(IntegerSubject, TwoTiesAreToldByTheOtherSteps) {
  for (const int count : {1, 4}) {
    Products products(count, true);
    for (int i = 0; i < count; ++i) {
      const std::string number = std::to_string(i);
      products.Quantise("y" + number, "z" + number);
      products.Write("z" + number, Products::Made(i + 1 == count, i + 1 == count ? Away : Even));
    }
    const RunReport run = products.Judged();
    const LayerReport& last = run.layers.back();
    EXPECT_EQ(last.verdict, count == 1 ? Verdict::kAligned : Verdict::kWrong) << last.reason;
    EXPECT_EQ(last.cause, count == 1 ? "" : kNamedAway) << last.reason;
    EXPECT_EQ(run.first_wrong < 0, count == 1);
  }
}

// Of a tnnproto a half added behind the zero point, which is above all sums here, is the rule, and even ones the fault.
TEST(IntegerSubject, TnnsRuleRoundsTheOtherWay) {
  Products products(4, true);
  products.graph().source = "net.tnnproto";
  for (int i = 0; i < 4; ++i) {
    const std::string number = std::to_string(i);
    products.Quantise("y" + number, "z" + number);
    products.Write("z" + number, Products::Made(i == 3, i == 3 ? Even : Up));
  }
  const RunReport run = products.Judged();
  EXPECT_EQ(run.layers[run.layers.size() - 2].reason,
            "to the integer by TNN's naive rule (the sum times an f32 scale, a half added in f32 and cut off)");
  EXPECT_EQ(run.layers.back().verdict, Verdict::kWrong) << run.layers.back().reason;
  EXPECT_EQ(run.layers.back().cause, "computed with rounding half to even; the graph says half away from zero");
}

// The float that a DequantizeLinear makes is in no dump of a runtime of integers: that joins no steps.
TEST(IntegerSubject, ReadersOfOneTensorAreStepsOfTheirOwn) {
  Products products(2);
  products.Forget("x");
  for (const std::string number : {"0", "1"}) {
    products.Quantise("y" + number, "z" + number);
    products.Write("z" + number, Products::Made(false, Even));
  }
  const RunReport run = products.Judged();
  ASSERT_EQ(run.layers.size(), 2u);
  for (const LayerReport& layer : run.layers) {
    ASSERT_EQ(layer.outputs.size(), 1u);
    EXPECT_EQ(layer.reason, kByOnnxRuntime);
  }
}

// One of two ties up and one down is what no rule gives, and what no bound forbids.
TEST(IntegerSubject, KernelsThatTheSubjectNamesFollowARule) {
  Products products(1, true);
  products.Quantise("y0", "z0");
  Tensor mixed = Products::Made(true, Even).Clone().value();
  ASSERT_EQ(SumAt(11, true), 181);
  ++mixed.data<int64_t>()[11];
  products.Write("z0", mixed);
  EXPECT_EQ(products.Judged().layers.back().verdict, Verdict::kAligned);
  const LayerReport named = products.Judged("LiteRT 2.3.0, reference kernels").layers.back();
  EXPECT_EQ(named.verdict, Verdict::kWrong);
  EXPECT_NE(named.reason.find("no rule of LiteRT's kernels gives all"), std::string::npos) << named.reason;
}

// An optimiser may quantise in front of what moves values or takes the largest.
TEST(IntegerSubject, RulesReachOverWhatMovesAndLimits) {
  Products products(1);
  products.Add(MakeLayer(OpKind::kReLU, "relu", {"y0"}, {"positive"}));
  Layer reshape = MakeLayer(OpKind::kReshape, "reshape", {"positive"}, {"plane"});
  auto shape = std::make_shared<ReshapeParam>();
  shape->shape = {1, 1, 6, 8};
  shape->num_axes = 4;
  reshape.param = shape;
  products.Add(reshape);
  Layer pool = MakeLayer(OpKind::kPooling, "pool", {"plane"}, {"pooled"});
  auto window = std::make_shared<PoolingParam>();
  window->kernel_h = window->kernel_w = window->stride_h = window->stride_w = 2;
  window->pad_type = kPadExplicit;
  pool.param = window;
  products.Add(pool);
  products.Quantise("pooled", "z");
  const Tensor made = Products::Made(false, Even);
  const auto pooled = [&](int64_t extra) {
    return WholeNumbers({1, 1, 3, 4}, [&](int64_t i) {
      int64_t most = kZeroOfY;
      for (const int64_t at : {0, 1, 8, 9}) most = std::max(most, made.data<int64_t>()[i / 4 * 16 + i % 4 * 2 + at]);
      return i == 5 ? most + extra : most;
    });
  };
  products.Write("z", pooled(0));
  EXPECT_EQ(products.Judged().layers.back().reason, kByOnnxRuntime);
  products.Write("z", pooled(2));
  EXPECT_EQ(products.Judged().layers.back().verdict, Verdict::kWrong);
}

TEST(IntegerSubject, FaultsOfAllKindsAreNamed) {
  const auto sum = [](int64_t i) { return static_cast<double>(SumAt(i, false)) * 0.5; };
  const std::pair<const char*, std::function<double(int64_t)>> faults[] = {
      {"computed with rounding half down; the graph says half to even",
       [&](int64_t i) { return std::ceil(sum(i) - 0.5) + 100; }},
      {"computed with rounding towards zero; the graph says half to even",
       [&](int64_t i) { return std::trunc(sum(i)) + 100; }},
      {"computed with the zero point of the result and one more; the graph says the zero point",
       [&](int64_t i) { return Even(sum(i)) + 101; }},
      {"computed without the zero point of the result; the graph says with it",
       [&](int64_t i) { return Even(sum(i)); }},
      {"computed without the zero point of the input; the graph says with it",
       [](int64_t i) {
         int64_t all = 0;
         for (int64_t k = 0; k < kTerms; ++k) all += InputAt(k) * WeightAt(i, k, false);
         return Even(static_cast<double>(all) * 0.5) + 100;
       }},
  };
  for (const auto& [cause, value] : faults) {
    Products products(1);
    products.Quantise("y0", "z0");
    products.Write("z0", WholeNumbers({1, kOutputs}, [&value = value](int64_t i) {
                     return static_cast<int64_t>(std::min(std::max(value(i), 0.0), 255.0));
                   }));
    const LayerReport layer = products.Judged().layers.back();
    EXPECT_EQ(layer.verdict, Verdict::kWrong) << cause;
    EXPECT_EQ(layer.cause, cause);
  }
}

}  // namespace
}  // namespace plumb
