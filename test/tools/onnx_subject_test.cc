// SPDX-License-Identifier: Apache-2.0
// model_check --subject beside an .onnx: what the import did away with is judged, too, under the names of its nodes.
#include <gtest/gtest.h>

#include <cmath>

#include "format/onnx/onnx_model.h"
#include "plumb/tensor_file.h"
#include "tools/command.h"

namespace plumb {
namespace {

bool Has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

constexpr int64_t kCount = 4096;

// e = exp(c); s = x e; y = cumsum(s); i = argmax(y)
OnnxModel Model() {
  OnnxModel m;
  m.Input("x", {1, kCount}).Output("i");
  m.Floats("c", {1, 1}, {0.7f});
  m.Ints("axis", {}, {1});
  m.Node("Exp", {"c"}, {"e"}, "exp");
  m.Node("Mul", {"x", "e"}, {"s"}, "scaled");
  m.Node("CumSum", {"s", "axis"}, {"y"}, "sums");
  OnnxModel::SetInt(&m.Node("ArgMax", {"y"}, {"i"}, "peak"), "axis", 1);
  return m;
}

struct Subject {
  Tensor x = Tensor::Create(DType::kF32, {1, kCount}).value(), s = x.Clone().value(), y = x.Clone().value();
  Tensor e = Tensor::Create(DType::kF32, {1, 1}).value(), i = Tensor::Create(DType::kI64, {1, 1}).value();

  // As a runtime of plain loops in f32.
  explicit Subject(float factor) {
    e.data<float>()[0] = factor;
    float sum = 0;
    int64_t peak = 0;
    for (int64_t k = 0; k < kCount; ++k) {
      x.data<float>()[k] = static_cast<float>(k * 7919 % 2003 - 1000) * 1e-3f;
      s.data<float>()[k] = x.data<float>()[k] * factor;
      y.data<float>()[k] = sum += s.data<float>()[k];
      if (y.data<float>()[k] > y.data<float>()[peak]) peak = k;
    }
    i.data<int64_t>()[0] = peak;
  }
  CommandResult Check(const std::string& folder) const {
    WriteText(folder + "/m.onnx", Model().Bytes());
    EXPECT_TRUE(WriteTensors(folder + "/s.npz", {{"x", x}, {"e", e}, {"s", s}, {"y", y}, {"i", i}}).ok());
    return RunTool("model_check", "-m " + folder + "/m.onnx --subject " + folder + "/s.npz");
  }
};

TEST(OnnxSubject, ARuntimeOfPlainLoopsIsAligned) {
  const auto run = Subject(std::exp(0.7f)).Check(TestFolder("onnx_subject"));
  EXPECT_EQ(run.exit_code, 0) << run.out;
  EXPECT_TRUE(Has(run.out, "ALIGNED: subject aligned; 3 of 3 steps")) << run.out;
}

TEST(OnnxSubject, TheReportSaysWhereANodeWasWritten) {
  const std::string folder = TestFolder("onnx_subject");
  OnnxModel m = Model();
  m.graph().mutable_node(1)->set_doc_string("/home/me/net.py(7): forward\n");
  WriteText(folder + "/m.onnx", m.Bytes());
  const std::string bundle = " --bundle " + folder + "/bundle";
  for (const std::string& option : {std::string(), std::string(" --no-source-lines"), bundle}) {
    const auto run = RunTool("model_check", "-m " + folder + "/m.onnx -d NAIVE --full --html " + folder +
                                                "/m.html --json " + folder + "/m.json" + option);
    EXPECT_EQ(run.exit_code, 0) << run.out;
    const bool said = option.empty();
    EXPECT_EQ(Has(run.out, "written at /home/me/net.py:7 in forward\n"), said) << run.out;
    for (const char* file : {"/m.html", "/m.json"})
      EXPECT_EQ(Has(ReadText(folder + file), "/home/me/net.py:7 in forward"), said) << file << option;
  }
}

TEST(OnnxSubject, AnotherIndexIsWrong) {
  Subject subject(std::exp(0.7f));
  subject.i.data<int64_t>()[0] += 1;
  const auto run = subject.Check(TestFolder("onnx_subject"));
  EXPECT_EQ(run.exit_code, 1) << run.out;
  EXPECT_TRUE(Has(run.out, "FAILED: subject wrong at 'peak'")) << run.out;
}

TEST(OnnxSubject, AnotherConstantIsItsNodes) {
  const auto run = Subject(2.02f).Check(TestFolder("onnx_subject"));
  EXPECT_EQ(run.exit_code, 1) << run.out;
  EXPECT_TRUE(Has(run.out, "WRONG: the constant of node 'exp' (Exp, subject) is the first guilty one")) << run.out;
  EXPECT_TRUE(Has(run.out, "3 aligned, 0 grey, 1 wrong, 0 not tested of 4 steps")) << run.out;
  EXPECT_TRUE(Has(run.out, "FAILED: subject wrong at 'exp'")) << run.out;
}

}  // namespace
}  // namespace plumb
