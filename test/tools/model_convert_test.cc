// SPDX-License-Identifier: Apache-2.0
// model_convert through its command line: what it writes, what it says, its exit codes.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "base/file.h"
#include "plumb/model.h"

namespace plumb {
namespace {

namespace fs = std::filesystem;

struct Ran {
  int exit_code;
  std::string output;  // stdout and stderr
};

Ran Convert(const std::string& arguments) {
  Ran ran{-1, ""};
  FILE* pipe = ::popen((std::string(PLUMB_TOOL) + " " + arguments + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return ran;
  std::array<char, 4096> buffer;
  size_t got;
  while ((got = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0) ran.output.append(buffer.data(), got);
  ran.exit_code = WEXITSTATUS(::pclose(pipe));
  return ran;
}

std::string Slurp(const std::string& path) {
  const auto bytes = ReadFile(path);
  EXPECT_TRUE(bytes.ok()) << bytes.status().ToString();
  return bytes.ok() ? std::string(bytes->text()) : "";
}

class ModelConvertTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("plumb model_convert." + std::to_string(::getpid()));  // with a space
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string Path(const std::string& name) const { return (folder_ / name).string(); }
  std::string Quoted(const std::string& name) const { return "'" + Path(name) + "'"; }

  const std::string network_ = PLUMB_TEST_DATA "/networks/squeezenet_v1.0.tnnproto";
  fs::path folder_;
};

TEST_F(ModelConvertTest, WritesADescriptionWithGeneratedWeights) {
  const Ran ran = Convert(network_ + " -o " + Quoted("a") + " --random-weights --seed 7");
  EXPECT_EQ(ran.exit_code, 0) << ran.output;
  EXPECT_NE(ran.output.find("65 layers"), std::string::npos) << ran.output;
  EXPECT_NE(ran.output.find("generated (philox4x32-10 v1, seed 7)"), std::string::npos) << ran.output;
  LoadOptions options;
  options.seed = 7;
  const auto drawn = LoadModel(network_, options);
  const auto read = LoadModel(Path("a.tnnproto"));
  ASSERT_TRUE(drawn.ok() && read.ok()) << read.status().ToString();
  EXPECT_FALSE(read->weights_generated);
  for (size_t i = 0; i < drawn->layers.size(); ++i) {
    for (const auto& [slot, tensor] : drawn->layers[i].resources) {
      const Tensor* other = read->layers[i].Resource(slot);
      ASSERT_NE(other, nullptr);
      EXPECT_EQ(std::memcmp(tensor.raw(), other->raw(), tensor.bytes()), 0) << drawn->layers[i].name;
    }
  }
}

TEST_F(ModelConvertTest, BothMagicsComeBackToTheSameBytes) {
  ASSERT_EQ(Convert(network_ + " -o " + Quoted("a")).exit_code, 0);
  const Ran v1 = Convert(Quoted("a.tnnproto") + " -o " + Quoted("b") + " --format=v1");
  EXPECT_EQ(v1.exit_code, 0) << v1.output;
  EXPECT_NE(v1.output.find("weights: " + Path("a.tnnmodel")), std::string::npos) << v1.output;
  const Ran v2 =
      Convert("-p " + Quoted("b.tnnproto") + " -m " + Quoted("b.tnnmodel") + " -output " + Quoted("c") + " -q");
  EXPECT_EQ(v2.exit_code, 0);
  EXPECT_EQ(v2.output, "wrote " + Path("c.tnnproto") + " (v2) and " + Path("c.tnnmodel") + " (v2)\n");
  EXPECT_EQ(Slurp(Path("b.tnnmodel")).substr(0, 4), std::string("\x02\x00\xbc\xfa", 4));
  EXPECT_LT(fs::file_size(Path("b.tnnmodel")), fs::file_size(Path("a.tnnmodel")));
  EXPECT_TRUE(Slurp(Path("c.tnnmodel")) == Slurp(Path("a.tnnmodel")));
  EXPECT_EQ(Slurp(Path("c.tnnproto")), Slurp(Path("a.tnnproto")));
}

TEST_F(ModelConvertTest, FixesShapes) {
  const Ran ran = Convert(network_ + " -o " + Quoted("a") + " --shape input=4,3,227,227");
  EXPECT_EQ(ran.exit_code, 0) << ran.output;
  EXPECT_NE(Slurp(Path("a.tnnproto")).find("\"input 4 4 3 227 227 0 ,\""), std::string::npos);
}

TEST_F(ModelConvertTest, RefusesWithExitCodeTwo) {
  ASSERT_TRUE(WriteFile(Path("empty.tnnmodel"), "").ok());
  ASSERT_TRUE(WriteFile(Path("bad.tnnproto"), "1 2 1 4206624772,x 1 1 0,,y,1,Softmax s 1 1 x y 1x,").ok());
  const std::string out = " -o " + Quoted("out");
  const std::pair<std::string, const char*> cases[] = {
      {network_, "-o PREFIX"},
      {out, "which model?"},
      {network_ + out + " --nonsense", "--nonsense"},
      {network_ + out + " --format v3", "expected v1 or v2, found 'v3'"},
      {network_ + out + " --shape input", "--shape"},
      {network_ + out + " --shape other=1,3,8,8", "the network inputs are 'input'"},
      {network_ + out + " -m " + Quoted("gone.tnnmodel"), "a tnnmodel that is named must exist"},
      {network_ + out + " -m " + Quoted("empty.tnnmodel"), "the file is empty"},
      {Quoted("gone.tnnproto") + out, "No such file"},
      {Quoted("bad.tnnproto") + out, "field 'axis' (parameter 1): expected an integer, found '1x'"},
      {Quoted("gone.onnx") + out, "No such file"},
  };
  for (const auto& [arguments, expected] : cases) {
    const Ran ran = Convert(arguments);
    EXPECT_EQ(ran.exit_code, 2) << arguments << "\n" << ran.output;
    EXPECT_NE(ran.output.find(expected), std::string::npos) << arguments << "\n" << ran.output;
    EXPECT_FALSE(fs::exists(Path("out.tnnproto")) || fs::exists(Path("out.tnnmodel")) ||
                 fs::exists(Path("out.tnnmodel.part")));
  }
}

TEST_F(ModelConvertTest, HelpAndVersion) {
  const Ran help = Convert("--help");
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_NE(help.output.find("Examples:"), std::string::npos);
  EXPECT_EQ(Convert("--version").exit_code, 0);
}

TEST_F(ModelConvertTest, AlignSaysHowToInstallOnnxRuntime) {
  const std::string model = PLUMB_TEST_DATA "/../fuzz/corpus/onnx/conv.onnx";
  const Ran ran = Convert(model + " -o " + Quoted("a") + " -q -align");
  if (ran.output.find("this build of Plumb reads no ONNX files") != std::string::npos) {
    EXPECT_EQ(ran.exit_code, 2);
    GTEST_SKIP() << ran.output;
  }
  if (ran.exit_code == 0) GTEST_SKIP() << "this Python has onnxruntime";
  ASSERT_EQ(::setenv("PLUMB_PYTHON", "/nowhere/python3", 1), 0);
  const Ran none = Convert(model + " -o " + Quoted("a") + " -q -align");
  ::unsetenv("PLUMB_PYTHON");
  EXPECT_EQ(none.exit_code, 2) << none.output;
  EXPECT_NE(none.output.find("platforms/linux/run.sh"), std::string::npos) << none.output;
  const Ran wrong = Convert(model + " -o " + Quoted("a") + " --align=some");
  EXPECT_EQ(wrong.exit_code, 2) << wrong.output;
  EXPECT_NE(wrong.output.find("--align: expected outputs or all, found 'some'"), std::string::npos) << wrong.output;
}

}  // namespace
}  // namespace plumb
