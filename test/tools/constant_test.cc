// SPDX-License-Identifier: Apache-2.0
// --constant: a network input of an .onnx becomes a constant in every tool that loads a model.
#include <gtest/gtest.h>

#include <filesystem>

#include "format/onnx/onnx_model.h"
#include "plumb/tensor_file.h"
#include "tools/command.h"

namespace plumb {
namespace {

bool Has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// y = x reshaped to the shape that the input "dims" says.
std::string WriteModel(const std::string& folder) {
  OnnxModel m;
  m.Input("x", {6}).Input("dims", {2}, 7).Output("y");
  m.Node("Reshape", {"x", "dims"}, {"r"}, "shaped");
  m.Node("Relu", {"r"}, {"y"}, "relu");
  WriteText(folder + "/m.onnx", m.Bytes());
  return folder + "/m.onnx";
}

TEST(ConstantTest, EveryToolNeedsItAndTakesIt) {
  const std::string folder = TestFolder("constant"), model = WriteModel(folder);
  for (const std::string& tool : std::vector<std::string>{"model_check -d NAIVE -m", "model_run -d NAIVE -m",
                                                          "model_info -m", "model_convert -o " + folder + "/c"}) {
    const size_t space = tool.find(' ');
    const std::string name = tool.substr(0, space), arguments = tool.substr(space) + " " + model;
    const auto refused = RunTool(name, arguments);
    EXPECT_EQ(refused.exit_code, 2) << refused.out;
    EXPECT_TRUE(Has(refused.out, "depends on the network input 'dims': --constant dims=VALUES makes it a constant"))
        << refused.out;
    const auto taken = RunTool(name, arguments + " --constant dims=2,3" + (name == "model_convert" ? "" : " -v"));
    EXPECT_EQ(taken.exit_code, 0) << taken.out;
    EXPECT_TRUE(Has(taken.out, "network input 'dims' is a constant, i64 [2]: 2, 3")) << taken.out;
    EXPECT_TRUE(Has(RunTool(name, "--help all").out, "--constant"));
  }
}

TEST(ConstantTest, AFileGivesTheValues) {
  const std::string folder = TestFolder("constant_file"), model = WriteModel(folder);
  Tensor dims = Tensor::Create(DType::kI64, Shape{2}).value();
  dims.data<int64_t>()[0] = 3;
  dims.data<int64_t>()[1] = 2;
  ASSERT_TRUE(WriteTensors(folder + "/dims.npy", {{"", dims}}).ok());
  const auto run = RunTool("model_run", "-d NAIVE -m " + model + " --constant dims=" + folder + "/dims.npy -v");
  EXPECT_EQ(run.exit_code, 0) << run.out;
  EXPECT_TRUE(Has(run.out, "i64 [2]: 3, 2")) << run.out;
}

TEST(ConstantTest, TheConvertedNetworkHasNoSuchInput) {
  const std::string folder = TestFolder("constant_converted"), model = WriteModel(folder);
  ASSERT_EQ(RunTool("model_convert", model + " -o " + folder + "/c --constant dims=2,3").exit_code, 0);
  const std::string proto = ReadText(folder + "/c.tnnproto");
  EXPECT_FALSE(Has(proto, "dims")) << proto;
  EXPECT_EQ(RunTool("model_check", "-d NAIVE -m " + folder + "/c.tnnproto").exit_code, 0);
}

TEST(ConstantTest, TheReportSaysItAndHowToGetItAgain) {
  const std::string folder = TestFolder("constant_report"), model = WriteModel(folder);
  const auto run = RunTool("model_check", "-d NAIVE -m " + model + " --constant dims=2,3 --json " + folder + "/r.json");
  EXPECT_EQ(run.exit_code, 0) << run.out;
  EXPECT_TRUE(Has(run.out, "dims: the constant 2,3")) << run.out;
  const std::string json = ReadText(folder + "/r.json");
  EXPECT_TRUE(Has(json, "--constant dims=2,3")) << json;
}

TEST(ConstantTest, AGoldenOfAnotherValueIsRefused) {
  const std::string folder = TestFolder("constant_golden"), model = WriteModel(folder);
  std::filesystem::create_directories(folder + "/g");
  Tensor dims = Tensor::Create(DType::kI64, Shape{2}).value();
  dims.data<int64_t>()[0] = 3;
  dims.data<int64_t>()[1] = 2;
  ASSERT_TRUE(WriteTensors(folder + "/g/dims.npy", {{"", dims}}).ok());
  const std::string arguments = "-d NAIVE -m " + model + " --golden " + folder + "/g --constant dims=";
  const auto run = RunTool("model_check", arguments + "2,3");
  EXPECT_EQ(run.exit_code, 2) << run.out;
  EXPECT_TRUE(Has(run.out, "network input 'dims' has another value in the golden")) << run.out;
  EXPECT_FALSE(Has(RunTool("model_check", arguments + "3,2").out, "has another value"));
}

TEST(ConstantTest, WrongUseIsOneSentence) {
  const std::string folder = TestFolder("constant_wrong"), model = WriteModel(folder);
  const auto expect = [&](const std::string& constant, const std::string& sentence) {
    const auto run = RunTool("model_run", "-d NAIVE -m " + model + " " + constant);
    EXPECT_EQ(run.exit_code, 2) << run.out;
    EXPECT_TRUE(Has(run.out, sentence)) << run.out;
  };
  expect("--constant dims", "--constant: expected NAME=VALUES or NAME=FILE, found 'dims'");
  expect("--constant dims=2,3 --constant dims=3,2", "network input 'dims' is given twice");
  expect("--constant dims=nowhere.npy", "nowhere.npy");
  expect("--constant dims=2,1.5", "a constant of int64 is expected, found the value 1.5");
  expect("--constant other=1", "a constant is given for 'other', but the network inputs are");
  const auto native = RunTool("model_run", "-d NAIVE -m " PLUMB_EXAMPLES "/digits/digits.tnnproto --constant data=1");
  EXPECT_EQ(native.exit_code, 2) << native.out;
  EXPECT_TRUE(Has(native.out, "--constant is for .onnx models")) << native.out;
}

}  // namespace
}  // namespace plumb
