// SPDX-License-Identifier: Apache-2.0
// A golden is what a Python process leaves.
#include "plumb/golden.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "plumb/tensor_file.h"

namespace plumb {
namespace {

namespace fs = std::filesystem;

// What no shell leaves alone.
const std::string kAwkward = "a b'c\"d$(touch made)`touch made`;\n*";

bool Has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

Tensor Values(std::initializer_list<float> values) {
  Tensor tensor = Tensor::Create(DType::kF32, {static_cast<int64_t>(values.size())}).value();
  std::copy(values.begin(), values.end(), tensor.data<float>());
  return tensor;
}

class GoldenTest : public testing::Test {
 protected:
  GoldenTest() {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~GoldenTest() override { fs::remove_all(folder_); }

  // A Python that is a script of sh: it is asked for the packages first (-c), then runs.
  GoldenOptions Python(const std::string& script) {
    GoldenOptions options;
    options.python = folder_ + "/a python";
    std::ofstream(options.python) << "#!/bin/sh\n[ \"$1\" = -c ] && exit 0\n" << script;
    ::chmod(options.python.c_str(), 0755);
    return options;
  }
  std::string Text(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(folder_ + "/" + name).rdbuf();
    return text.str();
  }

  const std::string folder_ = testing::TempDir() + "golden_test";
};

TEST_F(GoldenTest, OnlyAnOnnxFileHasOne) {
  const auto run = GoldenRun::OnnxRuntime("net.tnnproto", {});
  EXPECT_EQ(run.status().code(), StatusCode::kInvalidArgument);
  EXPECT_TRUE(Has(run.status().message(), "runs the original .onnx, and 'net.tnnproto' is none"))
      << run.status().message();
}

TEST_F(GoldenTest, LiteRtRunsTflite) {
  const auto other = GoldenRun::LiteRt("net.onnx", {});
  EXPECT_EQ(other.status().code(), StatusCode::kInvalidArgument);
  EXPECT_TRUE(Has(other.status().message(), "LiteRT runs the original .tflite, and 'net.onnx' is none"))
      << other.status().message();
  GoldenOptions options = Python("printf '%s\\n' \"$@\" > '" + folder_ + "/arguments'\ncp \"${8}\" '" + folder_ +
                                 "/seen.npz'\nmkdir \"$6\"\n");
  options.constants["rate"] = Values({16000});
  const auto run = GoldenRun::Of("net.tflite", {{"x", Values({1, 2, 3})}}, options);
  ASSERT_TRUE(run.ok()) << run.status().message();
  EXPECT_EQ(Text("arguments").rfind("-m\nplumb_golden\nlitert\nnet.tflite\n-o\n", 0), 0u) << Text("arguments");
  EXPECT_EQ(ReadTensors(folder_ + "/seen.npz").value().size(), 2u) << "LiteRT has no constants: they are inputs";
}

TEST_F(GoldenTest, AMissingPackageSaysHowToInstallIt) {
  GoldenOptions options;
  options.python = "/nowhere/python3";
  const auto run = GoldenRun::OnnxRuntime("net.onnx", {}, options);
  EXPECT_EQ(run.status().code(), StatusCode::kInvalidArgument);
  if (Has(run.status().message(), "/nowhere/python3 ()"))
    GTEST_SKIP() << "qemu-user's posix_spawn does not say why nothing was started";
  for (const char* part : {"/nowhere/python3", "No such file or directory", "platforms/linux/run.sh", "PLUMB_PYTHON"}) {
    EXPECT_TRUE(Has(run.status().message(), part)) << run.status().message();
  }
  EXPECT_EQ(run.status().message().find("--"), std::string::npos) << "no option of a tool: " << run.status().message();
}

TEST_F(GoldenTest, TheRunGetsModelInputsAndConstantsAndItsFolderGoesWithIt) {
  const std::string model = folder_ + "/" + kAwkward + ".onnx";
  GoldenOptions options = Python("printf '%s\\n' \"$@\" > '" + folder_ + "/arguments'\ncp \"${8}\" '" + folder_ +
                                 "/seen.npz'\nmkdir \"$6\" && cp \"$8\" \"$6/all.npz\"\n");
  options.constants["rate"] = Values({16000});
  std::string work;
  {
    const auto run = GoldenRun::OnnxRuntime(model, {{"x", Values({1, 2, 3})}}, options);
    ASSERT_TRUE(run.ok()) << run.status().message();
    work = run->folder();
    const auto golden = ReadGolden(work);
    ASSERT_TRUE(golden.ok()) << golden.status().message();
    EXPECT_EQ(golden->tensors.at("x").ValueAt(2), 3);
    EXPECT_TRUE(Has(golden->description, "1 tensor")) << golden->description;
  }
  EXPECT_FALSE(fs::exists(work));
  const std::string arguments = Text("arguments");
  EXPECT_EQ(arguments.rfind("-m\nplumb_golden\nonnx\n" + model + "\n-o\n" + work + "\n--input\n", 0), 0u) << arguments;
  EXPECT_TRUE(Has(arguments, "\n--constant\nrate=")) << arguments;
  EXPECT_FALSE(fs::exists("made"));
  EXPECT_EQ(ReadTensors(folder_ + "/seen.npz").value().size(), 1u);
}

TEST_F(GoldenTest, WhatWentWrongIsTheLastLine) {
  const auto run =
      GoldenRun::OnnxRuntime("net.onnx", {}, Python("echo a traceback; echo it has no such node >&2; exit 1\n"));
  EXPECT_EQ(run.status().message(), "plumb_golden on 'net.onnx': it has no such node");
}

TEST_F(GoldenTest, TwoRunsDoNotShareAFolder) {
  const GoldenOptions options = Python("mkdir \"$6\"\n");
  auto one = GoldenRun::OnnxRuntime("net.onnx", {}, options), two = GoldenRun::OnnxRuntime("net.onnx", {}, options);
  ASSERT_TRUE(one.ok() && two.ok());
  EXPECT_NE(one->folder(), two->folder());
  const GoldenRun moved = std::move(*one);
  EXPECT_TRUE(fs::exists(moved.folder()));
  EXPECT_EQ(ReadGolden("/nowhere").status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace plumb
