// SPDX-License-Identifier: Apache-2.0
// Constants that a runtime hands out without having written them are not tested; weights that were really wrong stay
// wrong.
#include "check/subject/unwritten.h"

#include <algorithm>
#include <cmath>

#include "computed_otherwise_util.h"
#include "op/inner_product.h"
#include "plumb/model.h"

namespace plumb {
namespace {

constexpr int64_t kFrom = 40, kTo = 30;

// Dense layers of dequantised weights, one behind the other: x -> y0 -> y1.
class DenseLayers {
 public:
  DenseLayers() {
    Tensor x = Gauss({1, kFrom});
    subject_.blobs["x"] = x;
    Add("x", "0", kFrom);
    Add("y0", "1", kTo);
    Compute();
  }

  Stored& subject() { return subject_; }
  Tensor Constant(const std::string& name) const { return record_.folded.constants.at(name).Clone().value(); }
  // What the layers make of these weights.
  void Compute() {
    for (const Layer& layer : graph_.layers) {
      Layer own = layer;
      own.resources["weight"] = used_.at(layer.name);
      Tensor out = Tensor::Create(DType::kF32, Shape{1, kTo}).value();
      ReferenceArgs args{own, {&subject_.blobs.at(layer.inputs[0])}, {&out}};
      EXPECT_TRUE(GetReferenceOp(layer.kind).run(args).ok());
      subject_.blobs[layer.outputs[0]] = out;
    }
  }
  void Use(const std::string& layer, const Tensor& weight) { used_[layer] = weight; }

  RunReport Judged(const std::set<std::string>& expected_left_out) const {
    SubjectOptions options;
    options.check.record = &record_;
    RunReport report = CheckSubjectBlobs(graph_, subject_, {}, options).value();
    std::set<std::string> left_out;
    report = LeaveOutUnwritten(graph_, subject_, {}, options, std::move(report), &left_out).value();
    EXPECT_EQ(left_out, expected_left_out);
    return report;
  }

 private:
  void Add(const std::string& from, const std::string& number, int64_t terms) {
    const std::string w = "w" + number;
    Tensor whole = Tensor::Create(DType::kI64, Shape{kTo, terms}).value();
    Tensor real = Tensor::Create(DType::kF32, Shape{kTo, terms}).value(),
           scale = Tensor::Create(DType::kF32, Shape{}).value();
    scale.data<float>()[0] = 0.03125f;
    for (int64_t i = 0; i < real.NumElements(); ++i) {
      whole.data<int64_t>()[i] = (i * 37 + 11) % 255 - 127;
      real.data<float>()[i] = static_cast<float>(whole.data<int64_t>()[i]) * 0.03125f;
    }
    record_.folded.constants[w + "_q"] = whole;
    record_.folded.constants[w + "_scale"] = scale;
    record_.folded.constants[w] = real;
    record_.folded.layers.push_back(MakeLayer(OpKind::kPlumbDequantizeLinear, w, {w + "_q", w + "_scale"}, {w}));
    record_.folded.layers.back().index = -1;
    Layer product = MakeLayer(OpKind::kInnerProduct, "y" + number, {from}, {"y" + number});
    auto param = std::make_shared<InnerProductParam>();
    param->num_output = static_cast<int>(kTo);
    product.param = param;
    product.resources["weight"] = real;
    product.index = static_cast<int>(graph_.layers.size());
    graph_.layers.push_back(product);
    if (graph_.inputs.empty()) graph_.inputs = {{"x", DType::kF32, Shape{1, kFrom}}};
    graph_.outputs = {"y" + number};
    used_["y" + number] = real;
  }

  Graph graph_;
  ImportRecord record_;
  Stored subject_;
  std::map<std::string, Tensor> used_;
};

Tensor Filled(const Tensor& like, float value) {
  Tensor tensor = Tensor::Create(DType::kF32, like.shape()).value();
  std::fill_n(tensor.data<float>(), tensor.NumElements(), value);
  return tensor;
}

TEST(Unwritten, IsNotTestedAndSaid) {
  DenseLayers net;
  EXPECT_EQ(net.Judged({}).verdict, Verdict::kAligned);
  net.subject().blobs["w0"] = Filled(net.Constant("w0"), NAN);
  net.subject().blobs["w1"] = Filled(net.Constant("w1"), 2.4e-38f);
  const RunReport run = net.Judged({"w0", "w1"});
  EXPECT_EQ(run.verdict, Verdict::kAligned) << run.why_not_tested;
  ASSERT_EQ(run.layers.size(), 4u);
  EXPECT_EQ(run.layers[0].verdict, Verdict::kNotTested);
  EXPECT_EQ(run.layers[0].reason,
            "the dump of 'w0' is no constant of the model, and every layer that reads it is aligned with the model's: "
            "the runtime never wrote this tensor");
  EXPECT_EQ(run.layers[3].verdict, Verdict::kAligned);
  EXPECT_EQ(run.coverage.all_steps, 2);
}

// Weights that were wrong and read: the tensor is what the layer computed with.
TEST(Unwritten, WeightsThatWereReadStayWrong) {
  DenseLayers net;
  Tensor doubled = net.Constant("w1");
  for (int64_t i = 0; i < doubled.NumElements(); ++i) doubled.data<float>()[i] *= 2;
  net.subject().blobs["w1"] = doubled;
  net.Use("y1", doubled);
  net.Compute();
  EXPECT_EQ(net.Judged({}).verdict, Verdict::kWrong);
  // One beside it that nobody wrote changes nothing.
  net.subject().blobs["w0"] = Filled(net.Constant("w0"), NAN);
  const RunReport run = net.Judged({"w0"});
  EXPECT_EQ(run.verdict, Verdict::kWrong);
  EXPECT_EQ(run.layers[static_cast<size_t>(run.first_wrong)].step.name, "w1");
}

// A reader that is wrong by itself excuses nothing.
TEST(Unwritten, AReaderThatIsWrongExcusesNothing) {
  DenseLayers net;
  net.subject().blobs["w1"] = Filled(net.Constant("w1"), NAN);
  net.subject().blobs["y1"] = Filled(net.subject().blobs["y1"], 3);
  EXPECT_EQ(net.Judged({}).verdict, Verdict::kWrong);
}

}  // namespace
}  // namespace plumb
