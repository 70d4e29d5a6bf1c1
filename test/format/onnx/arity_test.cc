// SPDX-License-Identifier: Apache-2.0
// Nodes without the inputs, outputs, opset or attributes that ONNX promises: each is refused with a sentence at the
// door.
#include <gtest/gtest.h>

#include <climits>

#include "format/onnx/importer.h"
#include "format/onnx/onnx_model.h"

namespace plumb {
namespace {

void ExpectRefused(const OnnxModel& model, const std::string& words) {
  const auto graph = model.Import();
  ASSERT_FALSE(graph.ok()) << words;
  EXPECT_EQ(graph.status().code(), StatusCode::kCorruptModel) << graph.status().ToString();
  EXPECT_NE(graph.status().message().find(words), std::string::npos) << graph.status().ToString();
}

std::vector<std::string> Names(const char* letters, const std::string& name) {
  return std::vector<std::string>(std::string(letters).size(), name);
}

// Every operator of onnx_list.def with nothing, with empty names, and with one required input taken away.
TEST(OnnxArityTest, EveryOperatorRefusesWhatIsMissing) {
  int refused = 0;
  for (const onnx::MapperRow& row : onnx::AllMappers()) {
    const std::string inputs = row.arity.inputs;
    const auto import = [&](const std::vector<std::string>& given, const std::vector<std::string>& outputs) {
      OnnxModel m(22);
      m.Input("x", {2, 2}).Output("y");
      m.Node(row.op_type, given, outputs, "node").set_domain(row.domain);
      auto* opset = m.proto().add_opset_import();
      opset->set_domain("com.microsoft");
      opset->set_version(1);
      return m.Import().status();
    };
    const auto expect = [&](const Status& status) {
      EXPECT_EQ(status.code(), StatusCode::kCorruptModel) << row.op_type << ": " << status.ToString();
      ++refused;
    };
    expect(import(Names(row.arity.inputs, "x"), {}));  // no outputs
    const bool needs = inputs.find_first_of("r+") != std::string::npos;
    if (!needs) continue;
    expect(import({}, {"y"}));
    expect(import(Names(row.arity.inputs, ""), {"y"}));
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i] == 'o') continue;
      std::vector<std::string> given = Names(row.arity.inputs, "x");
      given[i] = "";
      expect(import(given, {"y"}));
    }
    if (inputs.back() != '+') expect(import(std::vector<std::string>(inputs.size() + 1, "x"), {"y"}));
  }
  EXPECT_GT(refused, 500);
}

TEST(OnnxArityTest, TheSentenceSaysWhatIsMissing) {
  for (const char* op : {"Concat", "Sum", "Min", "Max", "Mean"}) {
    OnnxModel m;
    m.Input("x", {2}).Output("y");
    m.Node(op, {"x", ""}, {"y"}, "n");
    ExpectRefused(m, std::string("node 'n' (") + op + ", opset 17): input 1 is required, but its name is empty");
  }
  OnnxModel split;
  split.Input("x", {2}).Output("y");
  split.Node("Split", {"x"}, {}, "s");
  split.Node("Relu", {"x"}, {"y"});
  ExpectRefused(split, "node 's' (Split, opset 17): it takes 1 or more outputs, found 0");
  OnnxModel conv;
  conv.Input("x", {1, 2, 4, 4}).Output("y");
  conv.Node("Conv", {"x"}, {"y"}, "c");
  ExpectRefused(conv, "it takes 2 to 3 inputs, found 1");
}

TEST(OnnxArityTest, ControlFlowNeedsItsInputs) {
  for (const char* op : {"Scan", "If", "Loop"}) {
    for (const std::vector<std::string>& inputs : {std::vector<std::string>{}, {""}, {"", "", ""}}) {
      OnnxModel m;
      m.Input("x", {2}).Output("y");
      auto& node = m.Node(op, inputs, {"y"}, "n");
      OnnxModel::SetInt(&node, "num_scan_inputs", 1);
      for (const char* name : {"body", "then_branch", "else_branch"}) {
        auto* body = OnnxModel::SetGraph(&node, name);
        OnnxModel::Add(body->add_node(), "Relu", {"x"}, {"z"});
        body->add_output()->set_name("z");
      }
      EXPECT_FALSE(m.Import().ok()) << op;
    }
  }
}

// A function's caller left a parameter out that the operator inside needs.
TEST(OnnxArityTest, AnAbsentParameterInsideAFunction) {
  OnnxModel m;
  m.Input("x", {2}).Output("y");
  auto* opset = m.proto().add_opset_import();
  opset->set_domain("my");
  opset->set_version(1);
  auto* function = m.proto().add_functions();
  function->set_name("F");
  function->set_domain("my");
  function->add_input("a");
  function->add_input("b");
  function->add_output("c");
  OnnxModel::Add(function->add_node(), "Add", {"a", "b"}, {"c"}, "sum");
  m.Node("F", {"x"}, {"y"}, "call").set_domain("my");
  ExpectRefused(m, "input 1 is required, but 'b' was left out");
}

TEST(OnnxArityTest, OutputsThatNobodyNamesAreNotComputed) {
  OnnxModel m;
  m.Input("x", {2}).Output("y");
  m.Node("RandomUniformLike", {"x"}, {""}, "r");
  m.Node("Split", {"x"}, {""}, "s");
  m.Node("Relu", {"x"}, {"y"});
  const auto graph = m.Import();
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  EXPECT_EQ(graph->layers.size(), 1u);
  EXPECT_EQ(graph->inputs.size(), 1u);
}

OnnxModel Relu(int opset) {
  OnnxModel m(opset);
  m.Input("x", {2}).Output("y");
  m.Node("Relu", {"x"}, {"y"}, "r");
  return m;
}

TEST(OnnxOpsetTest, OnesThatDoNotExistAreRefused) {
  for (const int opset : {0, -1, INT_MIN, 1000000000, INT_MAX}) {
    ExpectRefused(Relu(opset),
                  "opset " + std::to_string(opset) + ", which does not exist; the newest that Plumb knows is ");
  }
  OnnxModel far = Relu(17);
  far.proto().mutable_opset_import(0)->set_version((int64_t{1} << 32) + 17);  // cut to 32 bits it would be 17
  ExpectRefused(far, "which does not exist");
  OnnxModel none = Relu(17);
  none.proto().clear_opset_import();
  ExpectRefused(none, "node 'r' (Relu, opset ?) is an operator of ONNX, but opset_import does not say of which opset");
  OnnxModel two = Relu(17);
  two.proto().add_opset_import()->set_version(11);
  ExpectRefused(two, "in two opsets, 17 and 11");
}

TEST(OnnxOpsetTest, NewerOnesAreReadWithAWarning) {
  const auto graph = Relu(40).Import();
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  std::string notes;
  for (const std::string& note : graph->notes) notes += note + "\n";
  EXPECT_NE(notes.find("warning AL13: the model has opset 40; operators are read as in opset "), std::string::npos)
      << notes;
  const auto known = Relu(17).Import();
  ASSERT_TRUE(known.ok());
  for (const std::string& note : known->notes) EXPECT_EQ(note.find("AL13"), std::string::npos) << note;
}

struct LongAttribute {
  const char* op;
  const char* attribute;
  std::vector<std::string> inputs;
};

// 2^32 - 1 is -1 and 2^32 is 0 in 32 bits.
TEST(OnnxAttributeTest, IntegersBeyond32BitsAreRefused) {
  const std::vector<LongAttribute> cases = {{"ArgMax", "axis", {"x"}},
                                            {"Concat", "axis", {"x", "x"}},
                                            {"Split", "axis", {"x"}},
                                            {"Softmax", "axis", {"x"}},
                                            {"Gather", "axis", {"x", "i"}},
                                            {"Flatten", "axis", {"x"}},
                                            {"LSTM", "hidden_size", {"x3", "w", "r"}},
                                            {"GRU", "layout", {"x3", "w", "r"}},
                                            {"Cast", "to", {"x"}},
                                            {"LpNormalization", "p", {"x"}},
                                            {"DepthToSpace", "blocksize", {"x4"}},
                                            {"Relu", "unknown", {"x"}}};
  for (const LongAttribute& c : cases) {
    for (const int64_t value : {(int64_t{1} << 32) - 1, int64_t{1} << 32, -(int64_t{1} << 32)}) {
      OnnxModel m;
      m.Input("x", {2, 2}).Input("x3", {1, 1, 2}).Input("x4", {1, 4, 1, 1}).Output("y");
      m.Ints("i", {1}, {0});
      m.Floats("w", {1, 8, 2}, std::vector<float>(16, 0.5f));
      m.Floats("r", {1, 8, 2}, std::vector<float>(16, 0.5f));
      OnnxModel::SetInt(&m.Node(c.op, c.inputs, {"y"}, "n"), c.attribute, value);
      ExpectRefused(m, std::string("attribute '") + c.attribute + "' is " + std::to_string(value) +
                           ", expected a number of 32 bits");
    }
  }
}

TEST(OnnxAttributeTest, ListsBeyond32BitsAreRefused) {
  OnnxModel m(11);
  m.Input("x", {2, 2}).Output("y");
  OnnxModel::SetInts(&m.Node("ReduceSum", {"x"}, {"y"}, "n"), "axes", {int64_t{1} << 32});
  ExpectRefused(m, "attribute 'axes' is 4294967296");
  OnnxModel slice(9);  // where the end may be as large as it likes
  slice.Input("x", {4}).Output("y");
  auto& node = slice.Node("Slice", {"x"}, {"y"});
  OnnxModel::SetInts(&node, "starts", {1});
  OnnxModel::SetInts(&node, "ends", {INT64_MAX});
  const auto graph = slice.Import();
  EXPECT_TRUE(graph.ok()) << graph.status().ToString();
}

TEST(OnnxAttributeTest, AnotherTypeThanTheOperatorHasIsRefused) {
  OnnxModel m;
  m.Input("x", {2, 2}).Output("y");
  OnnxModel::SetFloat(&m.Node("Softmax", {"x"}, {"y"}, "n"), "axis", 1);
  ExpectRefused(m, "attribute 'axis' must be an integer, found another type");
}

TEST(OnnxAttributeTest, SizesThatContradictTheWeightsAreRefused) {
  OnnxModel lstm;
  lstm.Input("x", {1, 1, 2}).Output("y");
  lstm.Floats("w", {1, 8, 2}, std::vector<float>(16, 0.5f));
  lstm.Floats("r", {1, 8, 2}, std::vector<float>(16, 0.5f));
  OnnxModel::SetInt(&lstm.Node("LSTM", {"x", "w", "r"}, {"y"}, "n"), "hidden_size", 3);
  ExpectRefused(lstm, "hidden_size is 3, but R is [1,8,2]");
  OnnxModel conv;
  conv.Input("x", {1, 1, 4, 4}).Output("y");
  conv.Floats("w", {1, 1, 2, 2}, {1, 2, 3, 4});
  OnnxModel::SetInts(&conv.Node("Conv", {"x", "w"}, {"y"}, "n"), "kernel_shape", {3, 3});
  ExpectRefused(conv, "kernel_shape is [3,3], but the weights have [2,2]");
}

}  // namespace
}  // namespace plumb
