// SPDX-License-Identifier: Apache-2.0
// blob_diff --suggest-names on a graph that was fused and renamed, and what it must not pair.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "format/onnx/onnx_model.h"
#include "plumb/tensor_file.h"
#include "tools/command.h"

namespace plumb {
namespace {

std::vector<float> DrawnValues(int seed, int count) {
  std::vector<float> values;
  for (int i = 0; i < count; ++i)
    values.push_back(static_cast<float>((i * 7919 + seed * 104729) % 2003 - 1000) * 1e-3f);
  return values;
}

// conv1, batch norm, relu, conv2, plus what conv1 read. `seeds`: of the two weights.
OnnxModel Plain(int first, int second) {
  OnnxModel m;
  m.Input("x", {1, 4, 8, 8}).Output("y");
  m.Floats("w1", {4, 4, 1, 1}, DrawnValues(first, 16));
  m.Floats("w2", {4, 4, 1, 1}, DrawnValues(second, 16));
  m.Floats("gamma", {4}, {1, 2, 0.5f, 1});
  m.Floats("beta", {4}, {0, 1, 2, 3});
  m.Floats("mean", {4}, {1, 0, 0, 1});
  m.Floats("variance", {4}, {1, 4, 0.25f, 1});
  m.Node("Conv", {"x", "w1"}, {"conv1"});
  m.Node("BatchNormalization", {"conv1", "gamma", "beta", "mean", "variance"}, {"norm"});
  m.Node("Relu", {"norm"}, {"relu"});
  m.Node("Conv", {"relu", "w2"}, {"conv2"});
  m.Node("Add", {"conv2", "x"}, {"sum"});
  m.Node("Sigmoid", {"sum"}, {"y"});
  return m;
}

// The same with the norm and the ReLU inside the first convolution, and numbers for names.
OnnxModel Fused() {
  OnnxModel m;
  m.Input("x", {1, 4, 8, 8}).Output("y");
  std::vector<float> folded = DrawnValues(1, 16);
  const float gamma[] = {1, 2, 0.5f, 1}, variance[] = {1, 4, 0.25f, 1};
  for (size_t i = 0; i < 16; ++i) folded[i] *= gamma[i / 4] / std::sqrt(variance[i / 4] + 1e-5f);
  m.Floats("0", {4, 4, 1, 1}, folded);
  m.Floats("1", {4}, {-1, 1, 2, 2});
  m.Floats("2", {4, 4, 1, 1}, DrawnValues(2, 16));
  auto& conv = m.Node("FusedConv", {"x", "0", "1"}, {"3"});
  conv.set_domain("com.microsoft");
  auto* activation = conv.add_attribute();
  activation->set_name("activation");
  activation->set_type(::onnx::AttributeProto::STRING);
  activation->set_s("Relu");
  m.Node("Conv", {"3", "2"}, {"4"});
  m.Node("Add", {"x", "4"}, {"5"});
  m.Node("Sigmoid", {"5"}, {"y"});
  return m;
}

void Turn(OnnxModel* model, const std::string& input, const std::string& output) {
  auto* perm = model->Node("Transpose", {input}, {output}).add_attribute();
  perm->set_name("perm");
  perm->set_type(::onnx::AttributeProto::INTS);
  for (const int64_t axis : {0, 2, 1}) perm->add_ints(axis);
}

class SuggestNames : public testing::Test {
 protected:
  SuggestNames() { std::filesystem::create_directories(folder_); }
  ~SuggestNames() override { std::filesystem::remove_all(folder_); }
  CommandResult Run(OnnxModel model, OnnxModel other, const std::string& options = "") const {
    WriteText(folder_ + "/a.onnx", model.Bytes());
    WriteText(folder_ + "/b.onnx", other.Bytes());
    return RunTool("blob_diff", "--suggest-names " + folder_ + "/a.onnx " + folder_ + "/b.onnx --csv " + folder_ +
                                    "/names.csv " + options);
  }
  // Whether the pairs that the run wrote hold this text.
  bool ReadNamesOf(const CommandResult& run, const std::string& text) const {
    EXPECT_NE(run.exit_code, 2) << run.out;
    return ReadText(folder_ + "/names.csv").find(text) != std::string::npos;
  }
  const std::string folder_ =
      testing::TempDir() + "suggest_" + testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(SuggestNames, FollowWeightsThroughNormsAndActivations) {
  const CommandResult run = Run(Plain(1, 2), Fused());
  EXPECT_EQ(run.exit_code, 0) << run.out;
  EXPECT_NE(run.out.find("4 of 4 tensors are paired by structure"), std::string::npos) << run.out;
  const std::string csv = ReadText(folder_ + "/names.csv");
  for (const char* row : {"\nrelu,3\n", "\nconv2,4\n", "\nsum,5\n"}) {
    EXPECT_NE(csv.find(row), std::string::npos) << csv;
  }
}

// A network of other weights has nothing to go by, nor has one in which both layers have those of one.
TEST_F(SuggestNames, NeverGuess) {
  for (const auto& [first, second] : {std::pair(1, 1), {3, 4}}) {
    const CommandResult run = Run(Plain(first, second), Fused());
    const std::string csv = ReadText(folder_ + "/names.csv");
    EXPECT_EQ(csv.find("\nrelu,"), std::string::npos) << csv;
    EXPECT_NE(run.out.find("no partner: 3"), std::string::npos) << run.out;
  }
}

// What only passes a tensor on is that tensor, too. ReadNames takes each name of the model once, in one line.
TEST_F(SuggestNames, WhatTheyWriteIsWhatNamesReads) {
  OnnxModel model, other;
  for (OnnxModel* m : {&model, &other}) m->Input("x", {1, 4}).Output("y");
  model.Node("Relu", {"x"}, {"relu"});
  model.Node("Sigmoid", {"relu"}, {"sigmoid"});
  model.Node("Tanh", {"sigmoid"}, {"y"});
  other.Node("Relu", {"x"}, {"1"});
  other.Node("Identity", {"1"}, {"2"});
  other.Node("Sigmoid", {"2"}, {"two\nlines"});
  other.Node("Tanh", {"two\nlines"}, {"y"});
  EXPECT_EQ(Run(model, other).exit_code, 0);
  const std::string csv = ReadText(folder_ + "/names.csv");
  EXPECT_NE(csv.find("\nrelu,1\n"), std::string::npos) << csv;
  EXPECT_NE(csv.find("\n# no row: relu is 2\n"), std::string::npos) << csv;
  const CommandResult read = RunTool("blob_diff", "--names " + folder_ + "/names.csv " + folder_ + " " + folder_);
  EXPECT_EQ(read.out.find("names.csv"), std::string::npos) << read.out;
}

TEST_F(SuggestNames, ANodeWithoutOutputsHasNoName) {
  OnnxModel model = Plain(1, 2), other = Fused();
  model.Node("Conv", {"x", "w1"}, {});
  other.Node("Conv", {"x", "2"}, {});
  EXPECT_EQ(Run(model, other).exit_code, 0);
}

// Two layers of the same weights are told apart by what they read, whatever else the graphs are.
TEST_F(SuggestNames, LineageTellsEqualWeightsApart) {
  OnnxModel other;
  other.Input("x", {1, 4, 8, 8}).Output("y");
  other.Floats("0", {4, 4, 1, 1}, DrawnValues(1, 16));
  other.Node("Conv", {"x", "0"}, {"1"});
  other.Node("Relu", {"1"}, {"2"});
  other.Node("Conv", {"2", "0"}, {"3"});
  other.Node("Sigmoid", {"3"}, {"y"});
  OnnxModel same;
  same.Input("x", {1, 4, 8, 8}).Output("y");
  same.Floats("w", {4, 4, 1, 1}, DrawnValues(1, 16));
  same.Node("Conv", {"x", "w"}, {"first"});
  same.Node("Relu", {"first"}, {"relu"});
  same.Node("Conv", {"relu", "w"}, {"second"});
  same.Node("Sigmoid", {"second"}, {"y"});
  EXPECT_EQ(Run(same, other).exit_code, 0);
  const std::string csv = ReadText(folder_ + "/names.csv");
  for (const char* row : {"\nfirst,1\n", "\nrelu,2\n", "\nsecond,3\n"}) {
    EXPECT_NE(csv.find(row), std::string::npos) << csv;
  }
}

// A transpose that was pushed through, a scale that went into the product, sums in another order, a clip in two steps.
TEST_F(SuggestNames, FormulasAreTheSameHoweverTheyAreWritten) {
  OnnxModel model, other;
  for (OnnxModel* m : {&model, &other}) {
    m->Input("x", {1, 6, 4}).Input("z", {1, 6, 6}).Output("y");
    m->Floats("half", {}, {0.5f});
    m->Floats("bias", {4}, {1, 2, 3, 4});
    m->Floats("low", {}, {-2});
    m->Floats("high", {}, {3});
  }
  model.Node("Mul", {"x", "half"}, {"scaled"});
  Turn(&model, "x", "turned");
  model.Node("MatMul", {"scaled", "turned"}, {"scores"});
  model.Node("Add", {"scores", "z"}, {"sum"});
  model.Node("Add", {"sum", "scores"}, {"twice"});
  model.Node("Clip", {"twice", "low", "high"}, {"clipped"});
  model.Node("Softmax", {"clipped"}, {"y"});
  Turn(&other, "x", "0");
  other.Node("MatMul", {"x", "0"}, {"1"});
  other.Node("Mul", {"1", "half"}, {"2"});
  other.Node("Add", {"2", "2"}, {"3"});
  other.Node("Add", {"z", "3"}, {"4"});
  other.Node("Min", {"4", "high"}, {"5"});
  other.Node("Max", {"5", "low"}, {"6"});
  other.Node("Softmax", {"6"}, {"y"});
  EXPECT_EQ(Run(model, other).exit_code, 0);
  const std::string csv = ReadText(folder_ + "/names.csv");
  for (const char* row : {"\nturned,0\n", "\nscores,2\n", "\ntwice,4\n", "\nclipped,6\n"}) {
    EXPECT_NE(csv.find(row), std::string::npos) << csv;
  }
  EXPECT_EQ(csv.find(",3\n"), std::string::npos) << csv;
}

// A result that is a pair does not say so of what made it: a factor may be on either side of a product, and a softmax
// takes any shift.
TEST_F(SuggestNames, AResultDoesNotTellItsOperands) {
  OnnxModel model, other;
  for (OnnxModel* m : {&model, &other}) {
    m->Input("q", {6, 6}).Input("k", {6, 6}).Output("y");
    m->Floats("half", {}, {0.5f});
    m->Floats("quarter", {}, {0.25f});
  }
  model.Node("Mul", {"q", "half"}, {"half_q"});
  model.Node("Mul", {"k", "half"}, {"half_k"});
  model.Node("MatMul", {"half_q", "half_k"}, {"scores"});
  model.Node("Tanh", {"scores"}, {"tanh"});
  model.Node("Softmax", {"tanh"}, {"y"});
  other.Node("Mul", {"q", "quarter"}, {"0"});
  other.Node("Exp", {"k"}, {"1"});
  other.Node("Log", {"1"}, {"2"});
  other.Node("MatMul", {"0", "k"}, {"3"});
  other.Node("Tanh", {"3"}, {"4"});
  other.Node("Add", {"4", "half"}, {"5"});
  other.Node("Softmax", {"5"}, {"y"});
  EXPECT_EQ(Run(model, other).exit_code, 0);
  const std::string csv = ReadText(folder_ + "/names.csv");
  EXPECT_NE(csv.find("\nscores,3\n"), std::string::npos) << csv;
  EXPECT_NE(csv.find("\ntanh,4\n"), std::string::npos) << csv;
  for (const char* wrong : {"half_q", "half_k", ",5\n"}) EXPECT_EQ(csv.find(wrong), std::string::npos) << csv;
}

// The same numbers in another order are other weights: an edge from left to right is none from top to bottom.
TEST_F(SuggestNames, WeightsInAnotherOrderAreOthers) {
  OnnxModel model, other;
  const std::vector<float> across = {1, 0, -1, 2, 0, -2, 1, 0, -1}, down = {1, 2, 1, 0, 0, 0, -1, -2, -1};
  for (OnnxModel* m : {&model, &other}) {
    m->Input("x", {1, 1, 8, 8}).Output("y");
    m->Floats("across", {1, 1, 3, 3}, across);
    m->Floats("down", {1, 1, 3, 3}, down);
  }
  model.Node("Conv", {"x", "across"}, {"horizontal"});
  model.Node("Conv", {"x", "down"}, {"vertical"});
  model.Node("Sub", {"horizontal", "vertical"}, {"y"});
  other.Node("Conv", {"x", "down"}, {"0"});
  other.Node("Conv", {"x", "across"}, {"1"});
  other.Node("Sub", {"1", "0"}, {"y"});
  EXPECT_EQ(Run(model, other).exit_code, 0);
  const std::string csv = ReadText(folder_ + "/names.csv");
  EXPECT_NE(csv.find("\nvertical,0\n"), std::string::npos) << csv;
  EXPECT_NE(csv.find("\nhorizontal,1\n"), std::string::npos) << csv;
}

// Of ONNX Runtime's blocks: another order of the weights, and zeros for channels that there are not.
TEST_F(SuggestNames, BlockedWeightsAreTheModels) {
  OnnxModel model, other;
  std::vector<float> blocked(32);  // of 8 outputs
  for (size_t output = 0; output < 4; ++output) {
    for (size_t input = 0; input < 4; ++input) blocked[input * 8 + output] = DrawnValues(1, 16)[output * 4 + input];
  }
  for (OnnxModel* m : {&model, &other}) m->Input("x", {1, 4, 8, 8}).Output("y");
  model.Floats("w", {4, 4, 1, 1}, DrawnValues(1, 16));
  model.Floats("b", {4}, {1, 2, 3, 4});
  model.Node("Conv", {"x", "w", "b"}, {"conv"});
  model.Node("Abs", {"conv"}, {"size"});
  model.Node("Softmax", {"size"}, {"y"});
  other.Floats("0", {8, 4, 1, 1}, blocked);
  other.Floats("1", {8}, {1, 2, 3, 4, 0, 0, 0, 0});
  other.Node("Conv", {"x", "0", "1"}, {"2"}).set_domain("com.microsoft.nchwc");
  auto& leaves = other.Node("ReorderOutput", {"2"}, {"3"});
  leaves.set_domain("com.microsoft.nchwc");
  auto* channels = leaves.add_attribute();
  channels->set_name("channels");
  channels->set_type(::onnx::AttributeProto::INT);
  channels->set_i(4);
  other.Node("Abs", {"3"}, {"4"});
  other.Node("Softmax", {"4"}, {"y"});
  EXPECT_TRUE(ReadNamesOf(Run(model, other), "# the same formula\nconv,3\n"));
  EXPECT_TRUE(ReadNamesOf(Run(model, other), "# the same formula\nsize,4\n"));
}

// A loop that cannot be read takes nothing from what stands before it; a graph that cannot be read at all is said.
TEST_F(SuggestNames, WhatStandsBeforeALoopIsRead) {
  for (const char* type : {"Loop", "NoSuchOperator"}) {
    OnnxModel model, other;
    for (OnnxModel* m : {&model, &other}) m->Input("x", {1, 16}).Output("y").Floats("two", {}, {2});
    model.Node("Add", {"x", "x"}, {"sum"});
    model.Node(type, {"", "", "sum"}, {"y"});
    other.Node("Mul", {"x", "two"}, {"0"});
    other.Node(type, {"", "", "0"}, {"y"});
    const CommandResult run = Run(model, other);
    const bool loop = std::string(type) == "Loop";
    EXPECT_EQ(ReadNamesOf(run, "sum,0\n"), loop) << run.out;
    EXPECT_EQ(run.out.find("the formulas cannot be read") == std::string::npos, loop) << run.out;
  }
}

// What no formula tells (here tanh by exp) holds the same values; a constant one, and one that two fit, never pair.
TEST_F(SuggestNames, ValuesAreTheLastResort) {
  OnnxModel model, other;
  for (OnnxModel* m : {&model, &other}) {
    m->Input("x", {1, 32}).Output("y");
    m->Floats("two", {}, {2});
    m->Floats("one", {}, {1});
  }
  model.Node("Tanh", {"x"}, {"tanh"});
  model.Node("Exp", {"tanh"}, {"power"});
  model.Node("Abs", {"tanh"}, {"size"});
  model.Node("Floor", {"size"}, {"nothing"});
  model.Node("Add", {"power", "nothing"}, {"power_too"});
  model.Node("Softmax", {"power_too"}, {"y"});
  other.Node("Mul", {"x", "two"}, {"0"});
  other.Node("Exp", {"0"}, {"1"});
  other.Node("Add", {"1", "one"}, {"2"});
  other.Node("Div", {"two", "2"}, {"3"});
  other.Node("Sub", {"one", "3"}, {"4"});
  other.Node("Exp", {"4"}, {"5"});
  other.Node("Ceil", {"4"}, {"6"});
  other.Node("Floor", {"3"}, {"7"});
  other.Node("Softmax", {"5"}, {"y"});
  EXPECT_EQ(ReadNamesOf(Run(model, other), "\ntanh,4\n"), false);
  const CommandResult run = Run(model, other, "--by-value");
  EXPECT_TRUE(ReadNamesOf(run, "# by value\ntanh,4\n")) << run.out;
  EXPECT_NE(run.out.find("1 by value"), std::string::npos) << run.out;
  EXPECT_NE(run.out.find("no partner: 5"), std::string::npos) << run.out;  // power and power_too
  EXPECT_FALSE(ReadNamesOf(run, "nothing,")) << run.out;
  EXPECT_EQ(Run(model, other, "--values-a x").exit_code, 2);
  EXPECT_EQ(RunTool("blob_diff", "a b --by-value").exit_code, 2);
}

// Two dumps of one input say what both hold.
TEST_F(SuggestNames, DumpsGiveValues) {
  OnnxModel model, other;
  for (OnnxModel* m : {&model, &other}) m->Input("x", {1, 32}).Output("y");
  model.Node("Tanh", {"x"}, {"tanh"});
  model.Node("Relu", {"tanh"}, {"y"});
  other.Node("Sin", {"x"}, {"0"});
  other.Node("Relu", {"0"}, {"y"});
  for (const auto& [name, begin] : {std::pair("a", "tanh"), {"b", "0"}}) {
    Tensor values = *Tensor::Create(DType::kF32, {1, 32});
    for (int i = 0; i < 32; ++i) values.data<float>()[i] = static_cast<float>(i * i - 300);
    ASSERT_TRUE(WriteTensors(folder_ + "/" + name + ".npz", {{begin, values}}).ok());
  }
  const CommandResult run = Run(model, other, "--values-a " + folder_ + "/a.npz --values-b " + folder_ + "/b.npz");
  EXPECT_TRUE(ReadNamesOf(run, "# by value\ntanh,0\n")) << run.out;
}

TEST_F(SuggestNames, QuietIsOneSentenceAndEpsilonIsForWeights) {
  EXPECT_EQ(Run(Plain(1, 2), Fused(), "-q").out, "4 of 4 tensors are paired by structure, no value was looked at\n");
  EXPECT_NE(Run(Plain(1, 2), Fused(), "--epsilon 1").out.find("--epsilon does nothing"), std::string::npos);
}

TEST_F(SuggestNames, OfWhatIsNoGraphIsOneSentence) {
  WriteText(folder_ + "/a.npz", "");
  const CommandResult run = RunTool("blob_diff", "--suggest-names " + folder_ + "/a.npz " + folder_ + "/a.npz");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_NE(run.out.find("names are suggested between two graphs"), std::string::npos) << run.out;
  EXPECT_EQ(RunTool("blob_diff", "a b --suggest-names --atol 1").exit_code, 2);
}

}  // namespace
}  // namespace plumb
