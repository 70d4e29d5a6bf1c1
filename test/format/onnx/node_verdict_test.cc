// SPDX-License-Identifier: Apache-2.0
// Every operator that can stand in an ONNX node is judged as that node, whatever it was imported as: NAIVE's own dump
// under the ONNX names is aligned, and a gross fault in any tensor that a node writes makes that node wrong.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <set>

#include "format/onnx/backend_case.h"
#include "format/onnx/node_verdict.h"
#include "format/onnx/onnx_model.h"

namespace plumb {
namespace {

using Values = std::map<std::string, Tensor>;

std::string Reasons(const RunReport& run) {
  std::string text;
  for (const LayerReport& layer : run.layers)
    text += layer.step.name + " (" + layer.step.type + "): " + VerdictName(layer.verdict) + ", " + layer.reason + "\n";
  return text;
}

bool IsConstant(const Tensor& tensor) {
  for (int64_t i = 1; i < tensor.NumElements(); ++i) {
    const bool both_nan = std::isnan(tensor.ValueAt(i)) && std::isnan(tensor.ValueAt(0));
    if (tensor.ValueAt(i) != tensor.ValueAt(0) && !both_nan) return false;
  }
  return true;
}

bool AnyFinite(const Tensor& tensor) {
  for (int64_t i = 0; i < tensor.NumElements(); ++i) {
    if (std::isfinite(tensor.ValueAt(i))) return true;
  }
  return false;
}

// --- one node between neighbours

struct NodeCase {
  std::string name;
  int opset;
  // Adds initialisers and the node, which reads "a", "b" (f32 [2,3,8]), "i", "j" (i64 of the same) or "p", "q" (bool)
  // and writes "y".
  std::function<::onnx::NodeProto*(OnnxModel&)> add;
  int type = 1;  // of "y", as ONNX numbers them
};

::onnx::NodeProto* Plain(OnnxModel& m, const std::string& op, const std::vector<std::string>& inputs) {
  return &m.Node(op, inputs, {"y"}, "the_node");
}

std::function<::onnx::NodeProto*(OnnxModel&)> Of(const std::string& op, const std::vector<std::string>& inputs,
                                                 const std::vector<std::pair<std::string, int64_t>>& attributes = {}) {
  return [=](OnnxModel& m) {
    ::onnx::NodeProto* node = Plain(m, op, inputs);
    for (const auto& [name, value] : attributes) OnnxModel::SetInt(node, name, value);
    return node;
  };
}

::onnx::NodeProto* TopKIndices(OnnxModel& m, bool largest) {
  m.Ints("k", {1}, {3});
  ::onnx::NodeProto& node = m.Node("TopK", {"a", "k"}, {"values", "y"}, "the_node");
  OnnxModel::SetInt(&node, "largest", largest);
  return &node;
}

::onnx::NodeProto* Microsoft(OnnxModel& m, const std::string& op, const std::vector<std::string>& inputs) {
  auto* opset = m.proto().add_opset_import();
  opset->set_domain("com.microsoft");
  opset->set_version(1);
  ::onnx::NodeProto* node = Plain(m, op, inputs);
  node->set_domain("com.microsoft");
  return node;
}

// a and b as u8, one scale and one zero point for all.
void Bytes(OnnxModel* m) {
  m->Floats("scale", {}, {0.0371f});
  ::onnx::TensorProto& zero = m->Ints("zero8", {}, {});
  zero.set_data_type(2);
  zero.add_int32_data(120);
  m->Node("QuantizeLinear", {"a", "scale", "zero8"}, {"a8"});
  m->Node("QuantizeLinear", {"b", "scale", "zero8"}, {"b8"});
}

std::vector<NodeCase> Cases() {
  constexpr int kU8 = 2, kI8 = 3, kI64 = 7, kBool = 9, kU32 = 12;
  const auto axis = [](OnnxModel& m) { m.Ints("axis", {}, {2}); };
  const auto to = [](int type) { return Of("Cast", {"i"}, {{"to", type}}); };
  return {
      {"ArgMax", 13, Of("ArgMax", {"a"}, {{"axis", 2}}), kI64},
      {"ArgMin", 13, Of("ArgMin", {"a"}, {{"axis", 1}, {"keepdims", 0}}), kI64},
      {"TopK", 13, [](OnnxModel& m) { return TopKIndices(m, true); }, kI64},
      {"TopKSmallest", 13, [](OnnxModel& m) { return TopKIndices(m, false); }, kI64},
      {"Or", 13, Of("Or", {"p", "q"}), kBool},
      {"Xor", 13, Of("Xor", {"p", "q"}), kBool},
      {"And", 13, Of("And", {"p", "q"}), kBool},
      {"Not", 13, Of("Not", {"p"}), kBool},
      {"GreaterOrEqual", 16, Of("GreaterOrEqual", {"a", "b"}), kBool},
      {"LessOrEqual", 16, Of("LessOrEqual", {"a", "b"}), kBool},
      {"LessOrEqualOfIntegers", 16, Of("LessOrEqual", {"i", "j"}), kBool},
      {"IsNaN", 13,
       [](OnnxModel& m) {
         m.Node("Log", {"a"}, {"nan"});  // of the negative ones
         return Plain(m, "IsNaN", {"nan"});
       },
       kBool},
      {"IsInf", 13,
       [](OnnxModel& m) {
         m.Floats("zero", {}, {0});
         m.Node("Relu", {"a"}, {"some_zeros"});
         m.Node("Div", {"b", "some_zeros"}, {"inf"});
         return Plain(m, "IsInf", {"inf"});
       },
       kBool},
      {"BitShift", 13,
       [](OnnxModel& m) {
         m.Node("Abs", {"i"}, {"positive"});
         OnnxModel::SetInt(&m.Node("Cast", {"positive"}, {"u32"}), "to", 12);
         OnnxModel::SetInt(&m.Node("Cast", {"two"}, {"u32_two"}), "to", 12);
         m.Ints("two", {}, {2});
         ::onnx::NodeProto* node = Plain(m, "BitShift", {"u32", "u32_two"});
         auto* direction = node->add_attribute();
         direction->set_name("direction");
         direction->set_type(::onnx::AttributeProto::STRING);
         direction->set_s("RIGHT");
         return node;
       },
       kU32},
      {"ClipOfIntegers", 13,
       [](OnnxModel& m) {
         m.Ints("low", {}, {-3});
         m.Ints("high", {}, {4});
         return Plain(m, "Clip", {"i", "low", "high"});
       },
       kI64},
      {"CumSum", 13,
       [=](OnnxModel& m) {
         axis(m);
         return Plain(m, "CumSum", {"a", "axis"});
       }},
      {"CumSumOfIntegers", 13,
       [=](OnnxModel& m) {
         axis(m);
         return Plain(m, "CumSum", {"i", "axis"});
       },
       kI64},
      {"CastToU8", 13, to(kU8), kU8},
      {"CastToI8", 13, to(kI8), kI8},
      {"CastToU32", 13, to(kU32), kU32},
      {"DynamicQuantizeLinear", 13,
       [](OnnxModel& m) {
         return &m.Node("DynamicQuantizeLinear", {"a"}, {"y", "y_scale", "y_zero"}, "the_node");
       },
       kU8},
      {"Hardmax", 13, Of("Hardmax", {"a"})},
      {"OneHot", 13,
       [](OnnxModel& m) {
         m.Ints("depth", {}, {9});
         m.Floats("values", {2}, {-1, 2});
         return Plain(m, "OneHot", {"i", "depth", "values"});
       }},
      {"Mod", 13, Of("Mod", {"i", "j"}), kI64},
      {"Trilu", 14, Of("Trilu", {"a"})},
      {"Einsum", 13,
       [](OnnxModel& m) {
         ::onnx::NodeProto* node = Plain(m, "Einsum", {"a", "b"});
         auto* equation = node->add_attribute();
         equation->set_name("equation");
         equation->set_type(::onnx::AttributeProto::STRING);
         equation->set_s("bij,bkj->bik");
         return node;
       }},
      {"SkipLayerNormalization", 17,
       [](OnnxModel& m) {
         m.Floats("gain", {8}, {1, 2, 3, 1, 2, 3, 1, 2});
         return Microsoft(m, "SkipLayerNormalization", {"a", "b", "gain"});
       }},
      {"SkipSimplifiedLayerNormalization", 17,
       [](OnnxModel& m) {
         m.Floats("gain", {8}, {1, 2, 3, 1, 2, 3, 1, 2});
         return Microsoft(m, "SkipSimplifiedLayerNormalization", {"a", "b", "gain"});
       }},
      {"FastGelu", 17, [](OnnxModel& m) { return Microsoft(m, "FastGelu", {"a"}); }},
      {"QuickGelu", 17, [](OnnxModel& m) { return Microsoft(m, "QuickGelu", {"a"}); }},
      {"MultiHeadAttention", 17,
       [](OnnxModel& m) {
         ::onnx::NodeProto* node = Microsoft(m, "MultiHeadAttention", {"a", "b", "b"});
         OnnxModel::SetInt(node, "num_heads", 2);
         OnnxModel::SetInt(node, "unidirectional", 1);
         return node;
       }},
      {"GroupQueryAttention", 17,
       [](OnnxModel& m) {
         ::onnx::TensorProto& lengths = m.Ints("lengths", {2}, {});
         lengths.set_data_type(6);
         for (int i = 0; i < 2; ++i) lengths.add_int32_data(2);
         ::onnx::TensorProto& total = m.Ints("total", {1}, {});
         total.set_data_type(6);
         total.add_int32_data(3);
         ::onnx::NodeProto* node = Microsoft(m, "GroupQueryAttention", {"a", "b", "b", "", "", "lengths", "total"});
         OnnxModel::SetInt(node, "num_heads", 2);
         OnnxModel::SetInt(node, "kv_num_heads", 2);
         return node;
       }},
      {"QLinearAdd", 17,
       [=](OnnxModel& m) {
         Bytes(&m);
         return Microsoft(m, "QLinearAdd", {"a8", "scale", "zero8", "b8", "scale", "zero8", "scale", "zero8"});
       },
       kU8},
      {"QLinearSigmoid", 17,
       [=](OnnxModel& m) {
         Bytes(&m);
         m.Floats("fine", {}, {1.0f / 256});
         return Microsoft(m, "QLinearSigmoid", {"a8", "scale", "zero8", "fine", ""});
       },
       kU8},
      {"MatMulIntegerToFloat", 17,
       [=](OnnxModel& m) {
         Bytes(&m);
         ::onnx::TensorProto& weight = m.Ints("weight", {8, 4}, {});
         weight.set_data_type(kU8);
         for (int i = 0; i < 32; ++i) weight.add_int32_data(i * 7 % 60);
         return Microsoft(m, "MatMulIntegerToFloat", {"a8", "weight", "scale", "scale", "zero8"});
       }},
      {"DynamicQuantizeMatMul", 17,
       [=](OnnxModel& m) {
         Bytes(&m);
         ::onnx::TensorProto& weight = m.Ints("weight", {8, 4}, {});
         weight.set_data_type(kU8);
         for (int i = 0; i < 32; ++i) weight.add_int32_data(i * 7 % 60);
         return Microsoft(m, "DynamicQuantizeMatMul", {"a", "weight", "scale"});
       }},
      {"Mean", 13, Of("Mean", {"a", "b", "a"})},
      {"LayerNormalization", 17,
       [](OnnxModel& m) {
         m.Floats("gain", {8}, {1, 2, 3, 1, 2, 3, 1, 2});
         return Plain(m, "LayerNormalization", {"a", "gain"});
       }},
      {"ReduceLogSumExp", 13, Of("ReduceLogSumExp", {"a"})},
      {"LpNormalization", 13, Of("LpNormalization", {"a"})},
  };
}

Tensor Noise(DType dtype, uint64_t seed) {
  Tensor tensor = Tensor::Create(dtype, {2, 3, 8}).value();
  for (int64_t i = 0; i < tensor.NumElements(); ++i) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    const auto bits = static_cast<int64_t>(seed >> 40);
    if (dtype == DType::kF32) tensor.data<float>()[i] = static_cast<float>(bits % 2001 - 1000) / 250;
    if (dtype == DType::kI64) tensor.data<int64_t>()[i] = bits % 17 - 8;
  }
  return tensor;
}

OnnxModel Between(const NodeCase& c) {
  OnnxModel m(c.opset);
  m.Input("x", {2, 3, 8}).Input("z", {2, 3, 8}).Input("n", {2, 3, 8}, 7).Input("k_", {2, 3, 8}, 7);
  m.Node("Neg", {"x"}, {"a"});
  m.Node("Neg", {"z"}, {"b"});
  m.Node("Neg", {"n"}, {"i"});
  m.Ints("one", {}, {1});
  m.Node("Add", {"k_", "one"}, {"j"});
  m.Floats("zero_", {}, {0});
  m.Node("Greater", {"a", "zero_"}, {"p"});
  m.Node("Less", {"b", "zero_"}, {"q"});
  c.add(m);
  OnnxModel::SetInt(&m.Node("Cast", {"y"}, {"after"}), "to", 1);
  m.Node("Neg", {"after"}, {"end"});
  for (const char* output : {"y", "end", "a", "b", "i", "j", "p", "q"}) m.Output(output);
  return m;
}

std::vector<std::string> Tensors(OnnxModel* m) {
  std::vector<std::string> names;
  for (const auto& node : m->graph().node()) names.insert(names.end(), node.output().begin(), node.output().end());
  return names;
}

TEST(NodeVerdict, BetweenNeighboursAFaultIsTheNodesAndHealthIsAligned) {
  for (const NodeCase& c : Cases()) {
    SCOPED_TRACE(c.name);
    OnnxModel m = Between(c);
    ImportRecord record;
    LoadOptions load;
    load.record = &record;
    const auto graph = m.Import(load);
    ASSERT_TRUE(graph.ok()) << graph.status().ToString();
    const Values inputs = {{"x", Noise(DType::kF32, 1)},
                           {"z", Noise(DType::kF32, 2)},
                           {"n", Noise(DType::kI64, 3)},
                           {"k_", Noise(DType::kI64, 4)}};
    auto subject = NaiveSubject(*graph, inputs, Tensors(&m));
    ASSERT_TRUE(subject.ok()) << subject.status().ToString();
    const auto healthy = JudgeSubject(*graph, record, *subject, inputs);
    ASSERT_TRUE(healthy.ok()) << healthy.status().ToString();
    EXPECT_EQ(healthy->verdict, Verdict::kAligned) << Reasons(*healthy);
    EXPECT_EQ(healthy->Count(Verdict::kGrey) + healthy->Count(Verdict::kNotTested), 0) << Reasons(*healthy);
    subject->blobs["y"] = Spoilt(subject->blobs.at("y"));
    const auto faulty = JudgeSubject(*graph, record, *subject, inputs);
    ASSERT_TRUE(faulty.ok()) << faulty.status().ToString();
    EXPECT_EQ(faulty->verdict, Verdict::kWrong) << Reasons(*faulty);
    ASSERT_GE(faulty->first_wrong, 0);
    const StepInfo& guilty = faulty->layers[static_cast<size_t>(faulty->first_wrong)].step;
    EXPECT_EQ(guilty.members.back().nodes, std::vector<std::string>{"the_node"}) << Reasons(*faulty);
  }
}

// --- every operator of the suite

// What no step computes, or nothing can be wrong with.
const std::map<std::string, std::string>& NeverJudged() {
  static const std::map<std::string, std::string> ops = {
      {"ConstantOfShape", "one value everywhere"},
      {"NonMaxSuppression", "its input must be known before the network runs"},
      {"NonZero", "its input must be known before the network runs"},
      {"Shape", "follows from the shapes"},
      {"Size", "follows from the shapes"}};
  return ops;
}

struct Tally {
  std::set<std::string> judged, seen;
  int cases = 0, faults = 0;
};

void JudgeCase(const std::string& folder, Tally* tally) {
  SCOPED_TRACE(folder.substr(folder.rfind('/') + 1));
  const auto model = LoadBackendCase(folder);
  if (!model.ok()) return;  // the suite's own test says why
  const std::string op = model->op_types.size() == 1 ? model->op_types[0] : "several";
  tally->seen.insert(op);
  auto subject = NaiveSubject(model->graph, model->inputs, model->tensors);
  if (!subject.ok()) return;
  const auto healthy = JudgeSubject(model->graph, model->record, *subject, model->inputs);
  ASSERT_TRUE(healthy.ok()) << healthy.status().ToString();
  EXPECT_EQ(healthy->Count(Verdict::kWrong) + healthy->Count(Verdict::kGrey), 0) << Reasons(*healthy);
  ++tally->cases;
  std::set<std::string> computed;
  for (const LayerReport& layer : healthy->layers) {
    for (const OutputReport& output : layer.outputs) computed.insert(output.blob);
  }
  for (const std::string& name : model->tensors) {
    if (computed.count(name) == 0 || subject->blobs.count(name) == 0) continue;
    const Tensor value = subject->blobs.at(name);
    if (!AnyFinite(value)) continue;
    subject->blobs[name] = Spoilt(value);
    const auto faulty = JudgeSubject(model->graph, model->record, *subject, model->inputs);
    ASSERT_TRUE(faulty.ok()) << faulty.status().ToString();
    EXPECT_EQ(faulty->verdict, Verdict::kWrong) << "a fault in '" << name << "'\n" << Reasons(*faulty);
    subject->blobs[name] = value;
    ++tally->faults;
    if (!IsConstant(value) || value.NumElements() == 1) tally->judged.insert(op);
  }
}

TEST(NodeVerdict, EveryOperatorOfTheSuiteIsJudged) {
  const std::vector<std::string> folders = BackendCases("node");
  if (folders.empty()) GTEST_SKIP() << "install libonnx-testdata to judge every operator of the ONNX backend tests";
  Tally tally;
  for (const std::string& folder : folders) JudgeCase(folder, &tally);
  std::printf("%d cases, %d faults, %zu operators\n", tally.cases, tally.faults, tally.judged.size());
  for (const std::string& op : tally.seen) {
    if (tally.judged.count(op) == 0 && NeverJudged().count(op) == 0) ADD_FAILURE() << op << " is never judged";
  }
}

}  // namespace
}  // namespace plumb
