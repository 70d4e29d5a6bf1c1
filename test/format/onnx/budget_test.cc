// SPDX-License-Identifier: Apache-2.0
// Models of a kilobyte that stand for any amount of work: refused, or computed when they run, and said in a sentence.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "format/onnx/budget.h"
#include "format/onnx/onnx_model.h"

namespace plumb {
namespace {

class OnnxBudgetTest : public testing::Test {
 protected:
  OnnxBudgetTest() { setenv("PLUMB_MAX_NODES", "1000", 1); }
  ~OnnxBudgetTest() override { unsetenv("PLUMB_MAX_NODES"); }
};

// A Loop over `op`, or over Loops, `depth` deep, that reads and writes the tensor `s`.
void AddLoop(::onnx::NodeProto* node, const char* op, int depth) {
  auto* body = OnnxModel::SetGraph(node, "body");
  body->set_name("body");
  OnnxModel::Declare(body->add_input(), "step", {}, 7);
  OnnxModel::Declare(body->add_input(), "go", {}, 9);
  OnnxModel::Declare(body->add_input(), "s", {2}, 1);
  OnnxModel::Declare(body->add_output(), "go", {}, 9);
  OnnxModel::Declare(body->add_output(), "so", {2}, 1);
  if (depth == 1) {
    const bool two = std::string(op) == "MatMul";
    OnnxModel::Add(body->add_node(), op, two ? std::vector<std::string>{"s", "s"} : std::vector<std::string>{"s"},
                   {"so"}, "inner");
  } else {
    AddLoop(&OnnxModel::Add(body->add_node(), "Loop", {"trips", "", "s"}, {"so"}, "loop"), op, depth - 1);
  }
}

OnnxModel Loops(int64_t trips, const char* op, int depth) {
  OnnxModel m;
  m.Input("x", {2}).Output("y");
  m.Ints("trips", {}, {trips});
  AddLoop(&m.Node("Loop", {"trips", "", "x"}, {"y"}, "top"), op, depth);
  return m;
}

// Functions 0 to depth - 1, each of which calls the next one `width` times.
OnnxModel Functions(int depth, int width) {
  OnnxModel m;
  m.Input("x", {2}).Output("y");
  m.proto().add_opset_import()->set_domain("my");
  for (int i = 0; i < depth; ++i) {
    auto* function = m.proto().add_functions();
    function->set_name("F" + std::to_string(i));
    function->set_domain("my");
    function->add_input("0");
    function->add_output(std::to_string(width));
    function->add_opset_import()->set_version(17);
    for (int call = 0; call < width; ++call) {
      const bool last = i + 1 == depth;
      auto& node = OnnxModel::Add(function->add_node(), last ? "Relu" : "F" + std::to_string(i + 1),
                                  {std::to_string(call)}, {std::to_string(call + 1)});
      if (!last) node.set_domain("my");
    }
  }
  m.Node("F0", {"x"}, {"y"}, "call").set_domain("my");
  return m;
}

void ExpectSentence(const OnnxModel& m, const std::string& sentence) {
  const auto graph = m.Import();
  ASSERT_FALSE(graph.ok());
  EXPECT_EQ(graph.status().code(), StatusCode::kNotSupported);
  EXPECT_NE(graph.status().message().find(sentence), std::string::npos) << graph.status().message();
}

TEST_F(OnnxBudgetTest, NestedLoops) {
  EXPECT_TRUE(Loops(20, "Relu", 2).Import().ok());
  ExpectSentence(Loops(100, "Relu", 2),
                 "functions, Loops and Scans make more than 1003 nodes and steps of the model, and node 'top/");
  ExpectSentence(Loops(100, "Relu", 2), "PLUMB_MAX_NODES=N raises that");
  ExpectSentence(Loops(int64_t{1} << 40, "Relu", 1), "nodes and steps");
  setenv("PLUMB_MAX_NODES", "30000", 1);
  EXPECT_TRUE(Loops(100, "Relu", 2).Import().ok());
  setenv("PLUMB_MAX_NODES", "many", 1);
  EXPECT_EQ(Loops(20, "Relu", 2).Import().status().message(), "PLUMB_MAX_NODES is 'many', expected a number");
}

TEST_F(OnnxBudgetTest, FunctionsThatCallFunctions) {
  EXPECT_TRUE(Functions(5, 3).Import().ok());
  ExpectSentence(Functions(20, 2), "nodes and steps of the model, and node 'call/");
  const std::string text = Functions(20, 2).Import().status().message();
  EXPECT_LT(text.size(), 400u) << "no frame for each call: " << text;
}

// It took the stack.
TEST_F(OnnxBudgetTest, AChainOfFunctions) {
  ExpectSentence(Functions(20000, 1), "graphs and functions lie more than 64 deep in each other");
  EXPECT_TRUE(Functions(60, 1).Import().ok());
}

// Names are part of it: a name of 100 kB in 1000 steps is 100 MB.
TEST_F(OnnxBudgetTest, LongNames) {
  OnnxModel m = Loops(500, "Relu", 1);
  EXPECT_TRUE(m.Import().ok());
  m.graph().mutable_node(0)->mutable_attribute(0)->mutable_g()->mutable_node(0)->set_name(std::string(100000, 'n'));
  const auto graph = m.Import();
  ASSERT_FALSE(graph.ok());
  EXPECT_NE(graph.status().message().find("nodes and steps of the model"), std::string::npos);
}

// 3 * 10^9 multiplications, and 10^9 of them for each step more: left to the device.
TEST_F(OnnxBudgetTest, FoldingThatTakesLongIsLeft) {
  OnnxModel m = Loops(3, "MatMul", 1);
  m.graph().mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(0)->set_dim_value(1);
  m.Ints("size", {2}, {1100, 1100});
  m.Node("ConstantOfShape", {"size"}, {"zeros"}, "zeros");
  m.graph().mutable_node(0)->set_input(2, "zeros");
  m.graph().mutable_node(0)->set_output(0, "product");
  m.Node("Add", {"x", "product"}, {"y"}, "add");
  const auto graph = m.Import();
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  EXPECT_EQ(graph->layers.size(), 4u);
  EXPECT_NE(std::find(graph->notes.begin(), graph->notes.end(),
                      "some constants are computed when it runs: computing them on import takes too long"),
            graph->notes.end());
}

TEST(OnnxBudget, IsWhatTheFileHasAndTheUsual) {
  const OnnxModel m = Loops(100, "Relu", 2);
  const std::string bytes = m.Bytes();
  const FileBytes file(std::shared_ptr<void>(const_cast<char*>(bytes.data()), [](void*) {}), bytes.size());
  EXPECT_EQ(onnx::ImportBudget::Of(onnx::ParseModel(file, "x").value())->max_nodes, 200003);
}

}  // namespace
}  // namespace plumb
