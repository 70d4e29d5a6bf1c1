// SPDX-License-Identifier: Apache-2.0
// model_check --bundle: a whole case to hand over, which says nothing of who made it; and --environment.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "plumb/tool/bundle.h"
#include "tools/command.h"

namespace plumb {
namespace {

bool Mentions(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// The digits' network of somebody, whose ReLU a runtime computes as another function.
class Bundle : public testing::Test {
 protected:
  void SetUp() override {
    home_ = TestFolder("bundle") + "/annabelle";
    std::filesystem::create_directories(home_ + "/work");
    for (const char* suffix : {".tnnproto", ".tnnmodel"})
      std::filesystem::copy_file(std::string(PLUMB_EXAMPLES "/digits/digits") + suffix, home_ + "/work/net" + suffix);
    std::string text = ReadText(home_ + "/work/net.tnnproto");
    text.replace(text.find("ReLU relu3"), 4, "Abs");
    WriteText(home_ + "/work/other.tnnproto", text);
    std::filesystem::copy_file(home_ + "/work/net.tnnmodel", home_ + "/work/other.tnnmodel");
    ASSERT_EQ(RunTool("model_run", "-m " + home_ + "/work/other.tnnproto -d NAIVE -q",
                      "DUMP_INPUT_BLOB=1 DUMP_OUTPUT_BLOB=1 DUMP_BLOB_DIR=" + home_ + "/work/dump")
                  .exit_code,
              0);
    ASSERT_EQ(RunTool("model_run", "-m " + home_ + "/work/net.tnnproto -d NAIVE -q",
                      "DUMP_INPUT_BLOB=1 DUMP_OUTPUT_BLOB=1 DUMP_BLOB_DIR=" + home_ + "/work/right")
                  .exit_code,
              0);
  }
  CommandResult Check(const std::string& options) const {
    return RunTool("model_check", "-m " + home_ + "/work/net.tnnproto --subject " + home_ + "/work/dump -q " + options,
                   "USER=annabelle LOGNAME=annabelle HOME=" + home_ + " OMP_NUM_THREADS=2");
  }
  std::string home_;
};

TEST_F(Bundle, HoldsTheCaseAndNothingPrivate) {
  const std::string bundle = home_ + "/work/bundle";
  const auto run = Check("--bundle " + bundle);
  ASSERT_EQ(run.exit_code, 1) << run.out;
  for (const char* name : {"README.txt", "report.txt", "report.html", "report.json", "environment.json", "inputs.npz",
                           "outputs-subject.npz", "reference.npz", "case/case.tnnproto", "case/README.txt"})
    EXPECT_TRUE(std::filesystem::exists(bundle + "/" + name)) << name;
  EXPECT_FALSE(std::filesystem::exists(bundle + "/model"));
  for (const auto& entry : std::filesystem::recursive_directory_iterator(bundle)) {
    if (!entry.is_regular_file()) continue;
    EXPECT_FALSE(Mentions(ReadText(entry.path().string()), "annabelle")) << entry.path();
  }
  const auto environment = nlohmann::json::parse(ReadText(bundle + "/environment.json"));
  EXPECT_EQ(environment["files"]["net.tnnproto"]["bytes"], std::filesystem::file_size(home_ + "/work/net.tnnproto"));
  EXPECT_EQ(environment["files"]["net.tnnmodel"]["xxh64"].get<std::string>().size(), 16u);
  EXPECT_EQ(environment["variables"]["OMP_NUM_THREADS"], "2");
  EXPECT_GT(environment["cpu"]["flags"].size(), 0u);
  const std::string readme = ReadText(bundle + "/README.txt");
  EXPECT_EQ(readme.rfind("FAILED: ", 0), 0u) << readme;
  EXPECT_TRUE(Mentions(readme, "--subject dump")) << readme;
  // The guilty step is wrong by what the bundle holds.
  const auto again = RunTool("model_check", bundle + "/case --subject " + bundle + "/case/device.npz -q");
  EXPECT_EQ(again.exit_code, 1) << again.out;
  EXPECT_TRUE(Mentions(again.out, "subject wrong at 'relu3'")) << again.out;
}

TEST_F(Bundle, IsAZipWithTheModelWhereItIsAskedFor) {
  const auto run = Check("--with-model --bundle " + home_ + "/work/b.zip");
  ASSERT_EQ(run.exit_code, 1) << run.out;
  const std::string bytes = ReadText(home_ + "/work/b.zip");
  EXPECT_EQ(bytes.rfind("PK", 0), 0u);
  for (const char* name : {"environment.json", "case/inputs.npz", "model/net.tnnproto", "model/net.tnnmodel"})
    EXPECT_TRUE(Mentions(bytes, name)) << name;
  EXPECT_FALSE(Mentions(bytes, "annabelle"));
  EXPECT_EQ(Check("--with-model").exit_code, 2);
  EXPECT_EQ(Check("--bundle /nowhere/at/all.zip").exit_code, 2);
}

TEST_F(Bundle, AReasonInTheBaselineHoldsUntilItsDay) {
  const std::string file = " --baseline " + home_ + "/baseline.json ";
  ASSERT_EQ(Check(file + "--update-baseline --reason 'Abs for ReLU' --until 2999-01-01").exit_code, 1);
  const auto known = Check(file);
  EXPECT_EQ(known.exit_code, 0) << known.out;
  EXPECT_TRUE(Mentions(known.out, "GREY: subject")) << known.out;
  std::string text = ReadText(home_ + "/baseline.json");
  text.replace(text.find("2999"), 4, "2001");
  WriteText(home_ + "/baseline.json", text);
  const auto expired = Check(file);
  EXPECT_EQ(expired.exit_code, 1) << expired.out;
  EXPECT_EQ(Check(file + "--update-baseline --reason x --until soon").exit_code, 2);
  EXPECT_EQ(Check(file + "--reason x").exit_code, 2);
  const auto healed =
      RunTool("model_check", "-m " + home_ + "/work/net.tnnproto --subject " + home_ + "/work/right -q" + file);
  EXPECT_TRUE(Mentions(healed.out, "healed: subject, layer 00007 relu3: it was wrong")) << healed.out;
}

TEST_F(Bundle, ItsEnvironmentsAreCompared) {
  ASSERT_EQ(Check("--bundle " + home_ + "/a").exit_code, 1);
  ASSERT_EQ(RunTool("model_check",
                    "-m " + home_ + "/work/net.tnnproto --subject " + home_ + "/work/dump -q --bundle " + home_ + "/b",
                    "OMP_NUM_THREADS=3")
                .exit_code,
            1);
  const auto same = RunTool("model_check", "--environment " + home_ + "/a " + home_ + "/a");
  EXPECT_EQ(same.exit_code, 0) << same.out;
  const auto run = RunTool("model_check", "--environment " + home_ + "/a/environment.json " + home_ + "/b");
  EXPECT_EQ(run.exit_code, 1) << run.out;
  EXPECT_TRUE(Mentions(run.out, "variables.OMP_NUM_THREADS")) << run.out;
  EXPECT_EQ(RunTool("model_check", "--environment " + home_ + "/a").exit_code, 2);
  const auto none = RunTool("model_check", "--environment " + home_ + "/a " + home_ + "/work/dump/manifest.json");
  EXPECT_EQ(none.exit_code, 2) << none.out;
  EXPECT_TRUE(Mentions(none.out, "expected JSON with")) << none.out;
}

TEST(Environments, OfListsTheOddWordsAreSaid) {
  const std::string a = R"({"format": "plumb-environment", "version": 1, "cpu": {"flags": ["avx", "sse"]}, "x": 1})";
  const std::string b =
      R"({"format": "plumb-environment", "version": 1, "cpu": {"flags": ["amx", "sse"]}, "x": 1, "y": "new"})";
  const auto found = CompareEnvironments(a, b);
  ASSERT_TRUE(found.ok()) << found.status().message();
  ASSERT_EQ(found->size(), 2u);
  EXPECT_EQ((*found)[0].what, "cpu.flags");
  EXPECT_EQ((*found)[0].a, "avx");
  EXPECT_EQ((*found)[0].b, "amx");
  EXPECT_EQ((*found)[1].what, "y");
  EXPECT_EQ((*found)[1].a, "");
  EXPECT_FALSE(CompareEnvironments(a, "[1").ok());
  EXPECT_FALSE(CompareEnvironments(a, std::string(1000, '[')).ok());
}

TEST(Environments, PathsBecomeTheirLastPart) {
  const std::string text =
      WithoutPrivateWords("reads /data/secret/net.onnx and /data/secret/net.onnx.bin", {"/data/secret/net.onnx"});
  EXPECT_EQ(text, "reads net.onnx and net.onnx.bin");
  EXPECT_EQ(WithoutPrivateWords("atlas/net1 but las/net", {"las/net"}), "atlas/net1 but net");
  EXPECT_EQ(WithoutPrivateWords(R"(-m '/o'\''b/a"b.onnx', "-m '/o'\\''b/a\"b.onnx'", /o'b/a&quot;b.onnx)",
                                {"/o'b/a\"b.onnx"}),
            R"(-m 'a"b.onnx', "-m 'a\"b.onnx'", a&quot;b.onnx)");
  EXPECT_FALSE(WriteBundle(TestFolder("bundle_names"), {{"../out.txt", "x"}}).ok());
  EXPECT_FALSE(WriteBundle(TestFolder("bundle_names"), {{"/tmp/out.txt", "x"}}).ok());
}

}  // namespace
}  // namespace plumb
