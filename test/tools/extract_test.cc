// SPDX-License-Identifier: Apache-2.0
// model_check --extract: the guilty step as a model of its own, which shows the fault again, natively and as ONNX.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "format/onnx/onnx_model.h"
#include "plumb/tensor_file.h"
#include "tools/command.h"

namespace plumb {
namespace {

bool Says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// a = x * w, b = relu(a), y = b + w; the subject's b is off where it is positive.
class Extract : public testing::Test {
 protected:
  void SetUp() override {
    OnnxModel m;
    m.Input("x", {1, 64}).Output("y");
    m.Floats("w", {1, 1}, {0.75f});
    m.Node("Mul", {"x", "w"}, {"a"}, "first/scaled");
    m.Node("Relu", {"a"}, {"b"}, "positive part");
    m.Node("Add", {"b", "w"}, {"y"}, "last");
    WriteText(folder_ + "/m.onnx", m.Bytes());
    std::vector<NamedTensor> tensors;
    for (const char* name : {"x", "a", "b", "y"})
      tensors.push_back({name, Tensor::Create(DType::kF32, {1, 64}).value()});
    for (int64_t i = 0; i < 64; ++i) {
      const float x = static_cast<float>(i - 20) / 16, a = x * 0.75f, b = std::max(a, 0.0f) * 1.001f;
      const float values[] = {x, a, b, b + 0.75f};
      for (size_t k = 0; k < 4; ++k) tensors[k].tensor.data<float>()[i] = values[k];
    }
    ASSERT_TRUE(WriteTensors(folder_ + "/s.npz", tensors).ok());
  }

  CommandResult Check(const std::string& options) const {
    return RunTool("model_check", "-m " + folder_ + "/m.onnx --subject " + folder_ + "/s.npz --quiet --extract " +
                                      folder_ + "/case " + options);
  }
  // The case as a model of its own, with what was judged as the subject.
  CommandResult Again(const std::string& model) const {
    const std::string at = folder_ + "/case/";
    return RunTool("model_check",
                   "-m " + at + model + " -i " + at + "inputs.npz --subject " + at + "device.npz --quiet");
  }

  std::string folder_ = TestFolder("extract");
};

TEST_F(Extract, TheGuiltyStepIsWrongAlone) {
  const auto run = Check("");
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_TRUE(Says(run.out, "layer 1 'positive part' is written to")) << run.out;
  for (const char* model : {"case.tnnproto", "model.onnx"}) {
    const auto again = Again(model);
    EXPECT_EQ(again.exit_code, 1) << again.out;
    EXPECT_TRUE(Says(again.out, "subject wrong at 'positive part'; 1 of 1 steps")) << again.out;
  }
  const std::string text = ReadText(folder_ + "/case/README.txt");
  EXPECT_TRUE(Says(text, "'positive part' (ReLU) of subject: wrong")) << text;
  ASSERT_NE(text.find("1.001"), std::string::npos) << text;
  EXPECT_EQ(text.find("1.001"), text.rfind("1.001")) << text;  // the reason holds the cause: said once
}

TEST_F(Extract, HoldsTheReferenceAndItsBound) {
  Check("");
  const auto reference = ReadTensors(folder_ + "/case/reference.npz").value();
  const auto device = ReadTensors(folder_ + "/case/device.npz").value();
  const auto tau = ReadTensors(folder_ + "/case/tau.npz").value();
  ASSERT_EQ(reference.size(), 1u);
  EXPECT_EQ(reference[0].tensor.dtype(), DType::kF64);
  for (int64_t i = 0; i < 64; ++i) {
    const double positive = std::max(static_cast<double>(static_cast<float>(i - 20) / 16 * 0.75f), 0.0);
    EXPECT_EQ(reference[0].tensor.ValueAt(i), positive);
    EXPECT_NEAR(device[0].tensor.ValueAt(i), positive * 1.001, 1e-6);
    EXPECT_EQ(tau[0].tensor.ValueAt(i), 0);
  }
  const auto line_count = [&](const char* file) {
    const std::string text = ReadText(folder_ + "/case/" + file);
    return std::count(text.begin(), text.end(), '\n');
  };
  EXPECT_LE(line_count("show.py"), 20);
  EXPECT_FALSE(ReadText(folder_ + "/case/test_data_set_0/input_0.pb").empty());
  EXPECT_FALSE(ReadText(folder_ + "/case/test_data_set_0/output_0.pb").empty());
}

TEST_F(Extract, AStepThatIsNamedComesWithItsConstants) {
  const auto run = Check("--layers last");
  EXPECT_EQ(run.exit_code, 0) << run.out;
  EXPECT_TRUE(Says(run.out, "layer 2 'last' is written to")) << run.out;
  for (const char* model : {"case.tnnproto", "model.onnx"}) {
    const auto again = Again(model);
    EXPECT_EQ(again.exit_code, 0) << again.out;
    EXPECT_TRUE(Says(again.out, "subject aligned; 1 of 1 steps")) << again.out;
  }
}

TEST_F(Extract, FilesOfSomethingElseStayAsTheyAre) {
  std::filesystem::create_directories(folder_ + "/case");
  WriteText(folder_ + "/case/README.txt", "somebody's own");
  const auto run = Check("");
  EXPECT_EQ(run.exit_code, 2) << run.out;
  EXPECT_TRUE(Says(run.out, "case' holds files that are no case of Plumb")) << run.out;
  EXPECT_EQ(ReadText(folder_ + "/case/README.txt"), "somebody's own");
}

TEST_F(Extract, AnOlderCaseIsReplaced) {
  EXPECT_EQ(Check("").exit_code, 1);
  EXPECT_EQ(Check("").exit_code, 1);
}

TEST_F(Extract, ShowWithoutAnOnnxCaseIsRefused) {
  WriteText(folder_ + "/other.tnnproto", "x");
  const auto run = RunTool("model_check",
                           "-m " + folder_ + "/other.tnnproto --extract " + folder_ + "/case --show openvino --quiet");
  EXPECT_EQ(run.exit_code, 2) << run.out;
  EXPECT_TRUE(Says(run.out, "--show openvino")) << run.out;
  EXPECT_TRUE(Says(run.out, "is no .onnx")) << run.out;
}

TEST_F(Extract, AFolderThatCannotBeMadeIsSaid) {
  WriteText(folder_ + "/case", "a file");
  const auto run = Check("");
  EXPECT_TRUE(Says(run.out, "case' cannot be made")) << run.out;
  EXPECT_NE(run.exit_code, 0);
}

}  // namespace
}  // namespace plumb
