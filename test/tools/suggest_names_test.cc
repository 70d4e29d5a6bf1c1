// SPDX-License-Identifier: Apache-2.0
// blob_diff --suggest-names on a graph that was fused and renamed, and what it must not pair.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "format/onnx/onnx_model.h"
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

// Two layers of the same weights cannot be told apart; a network of other weights has nothing to go by.
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
