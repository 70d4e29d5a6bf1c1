// SPDX-License-Identifier: Apache-2.0
// model_reduce: a runtime that computes a pooling wrongly (model_run on a network that was edited for it), reduced to a
// case that it still computes wrongly.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "tools/command.h"

namespace plumb {
namespace {

using ReduceLines = std::vector<nlohmann::json>;

bool Tells(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::set<std::string> FilesIn(const std::string& folder) {
  std::set<std::string> names;
  for (const auto& one : std::filesystem::directory_iterator(folder)) names.insert(one.path().filename().string());
  return names;
}

class ModelReduce : public testing::Test {
 protected:
  // The runtime: `edit` is what sed does to the model's text before it runs.
  void Runtime(const std::string& edit) {
    WriteText(folder_ + "/runtime.sh",
              "set -e\n"
              "net=$(mktemp -d " +
                  folder_ +
                  "/net-XXXXXX)\n"
                  "sed -e '" +
                  edit +
                  "' \"$1\" > \"$net\"/net.tnnproto\n"
                  "cp \"${1%.tnnproto}.tnnmodel\" \"$net\"/net.tnnmodel\n"
                  "DUMP_INPUT_BLOB=1 DUMP_OUTPUT_BLOB=1 DUMP_BLOB_DIR=\"$3\" " PLUMB_BIN_DIR
                  "/model_run -m \"$net\"/net.tnnproto -i \"$2\" -d NAIVE -q\n");
  }
  CommandResult Reduce(const std::string& options) const {
    return RunTool("model_reduce", "-m " PLUMB_EXAMPLES "/digits/digits.tnnproto -o " + folder_ + "/cases --json " +
                                       folder_ + "/tried.jsonl --run 'sh " + folder_ +
                                       "/runtime.sh {model} {inputs} {dump}' " + options);
  }
  ReduceLines Lines() const {
    ReduceLines lines;
    const std::string text = ReadText(folder_ + "/tried.jsonl");
    for (size_t begin = 0; begin < text.size(); begin = text.find('\n', begin) + 1)
      lines.push_back(nlohmann::json::parse(text.substr(begin, text.find('\n', begin) - begin)));
    return lines;
  }
  std::string Case(const std::string& file) const { return folder_ + "/cases/case-1/" + file; }

  std::string folder_ = TestFolder("reduce");
};

constexpr const char* kMeanForMaximum = "s/relu2 pool2 0 /relu2 pool2 1 /";

TEST_F(ModelReduce, AStepThatIsWrongAloneIsOneLayer) {
  Runtime(kMeanForMaximum);
  const auto run = Reduce("");
  ASSERT_EQ(run.exit_code, 0) << run.out;
  EXPECT_TRUE(Tells(run.out, "'pool2' (Pooling): wrong alone")) << run.out;
  EXPECT_TRUE(Tells(run.out, "1 of 1 wrong steps are reduced")) << run.out;
  const nlohmann::json found = Lines().back();
  EXPECT_EQ(found["layers"], 1);
  EXPECT_EQ(found["all_layers"], 10);
  EXPECT_EQ(found["needed_before"].size(), 0u);
  // Of [1,32,8,8] one window is left.
  EXPECT_EQ(found["inputs"], "relu2 f32 [1,1,1,2]");
  // The case is wrong where it was found, and right here.
  const auto shown = RunCommand("PATH=" PLUMB_BIN_DIR ":$PATH sh " + Case("show.sh"));
  EXPECT_EQ(shown.exit_code, 1) << shown.out;
  EXPECT_TRUE(Tells(shown.out, "subject wrong at 'pool2'")) << shown.out;
  const auto here = RunTool("model_check", folder_ + "/cases/case-1 -d NAIVE -q");
  EXPECT_EQ(here.exit_code, 0) << here.out;
  EXPECT_TRUE(Tells(here.out, "1 of 1 steps")) << here.out;
  const std::string script = ReadText(Case("show.sh"));
  EXPECT_LE(std::count(script.begin(), script.end(), '\n'), 20);
  EXPECT_TRUE(Tells(ReadText(Case("tried.jsonl")), "\"reduced\":true"));
  EXPECT_TRUE(Tells(ReadText(Case("README.txt")), "Reduced from 10 layers to 1."));
  // The script judges as the reduction did; the commands that are told are those that work.
  EXPECT_TRUE(Tells(script, "--layout NCHW --arithmetic fp32+winograd --subject")) << script;
  EXPECT_TRUE(Tells(ReadText(Case("README.txt")), "sh '" + Case("show.sh") + "'"));
  EXPECT_TRUE(Tells(run.out, "again: model_check '" + folder_ + "/cases/case-1'\n")) << run.out;
}

TEST_F(ModelReduce, AStepThatIsRightAloneSaysWhatItNeeds) {
  Runtime("/ReLU relu2/,$" + std::string(kMeanForMaximum));  // only with that ReLU before it
  const auto run = Reduce("");
  ASSERT_EQ(run.exit_code, 0) << run.out;
  EXPECT_TRUE(Tells(run.out, "needs 'relu2' (ReLU) before it")) << run.out;
  const ReduceLines lines = Lines();
  EXPECT_EQ(lines[0]["tried"], "'pool2' alone, on what it read");
  EXPECT_EQ(lines[0]["wrong"], false);
  EXPECT_EQ(lines.back()["layers"], 2);
  EXPECT_EQ(RunCommand("PATH=" PLUMB_BIN_DIR ":$PATH sh " + Case("show.sh")).exit_code, 1);
}

TEST_F(ModelReduce, TwoFaultsAreTwoCases) {
  Runtime(std::string(kMeanForMaximum) + "; s/\"ReLU relu3 /\"Abs relu3 /");
  const auto run = Reduce("");
  ASSERT_EQ(run.exit_code, 0) << run.out;
  EXPECT_TRUE(Tells(run.out, "2 of 2 wrong steps are reduced")) << run.out;
  EXPECT_TRUE(Tells(ReadText(folder_ + "/cases/case-2/README.txt"), "'relu3' (ReLU) of subject: wrong"));
  // What the last call did not write goes; what it did not write either, stays.
  WriteText(folder_ + "/cases/case-2/note.txt", "mine\n");
  const auto one = Reduce("--max-cases 1");
  EXPECT_TRUE(Tells(one.out, "1 of 2 wrong steps are reduced")) << one.out;
  EXPECT_EQ(FilesIn(folder_ + "/cases/case-2"), std::set<std::string>{"note.txt"});
  EXPECT_TRUE(Tells(ReadText(Case("README.txt")), "wrong"));
}

TEST_F(ModelReduce, WhatIsNoCaseStaysAndIsSaid) {
  Runtime(kMeanForMaximum);
  std::filesystem::create_directories(folder_ + "/cases/case-3");
  WriteText(folder_ + "/cases/case-3/model.onnx", "mine\n");
  const auto run = Reduce("");
  EXPECT_EQ(run.exit_code, 2) << run.out;
  EXPECT_TRUE(Tells(run.out, "case-3' is in the way and holds no case of model_reduce")) << run.out;
  EXPECT_EQ(FilesIn(folder_ + "/cases"), std::set<std::string>{"case-3"});
  std::filesystem::remove_all(folder_ + "/cases/case-3");
  ASSERT_EQ(Reduce("").exit_code, 0);
  const auto again = RunTool("model_reduce", folder_ + "/cases/case-1 -d NAIVE -o " + folder_ + "/cases");
  EXPECT_EQ(again.exit_code, 2) << again.out;
  EXPECT_TRUE(Tells(again.out, "holds the model that is reduced")) << again.out;
}

TEST_F(ModelReduce, NothingWrongIsExitCodeOne) {
  Runtime("");
  const auto run = Reduce("");
  EXPECT_EQ(run.exit_code, 1) << run.out;
  EXPECT_TRUE(Tells(run.out, "nothing is wrong")) << run.out;
  const auto device =
      RunTool("model_reduce", "-m " PLUMB_EXAMPLES "/digits/digits.tnnproto -d NAIVE -o " + folder_ + "/cases");
  EXPECT_EQ(device.exit_code, 1) << device.out;
}

TEST_F(ModelReduce, WhatCannotBeDoneIsOneSentence) {
  const std::string model = "-m " PLUMB_EXAMPLES "/digits/digits.tnnproto -o " + folder_ + "/cases ";
  const std::pair<const char*, const char*> calls[] = {
      {"", "a device or a command is reduced for"},
      {"--run 'true {model}'", "lacks {dump}"},
      {"--run 'true {model} {dump}'", "the command wrote nothing into {dump}"},
      {"--run 'echo no such runtime; exit 7; {model} {dump}'", "exit code 7: no such runtime"},
      {"-d X86,NAIVE", "expected one device, found 2"},
      {"-d NAIVE --seconds 0", "seconds: expected more than 0"},
      {"-d NAIVE --seconds 1e300", "at most 100000000"},
      {"-d NAIVE --max-cases 0", "max_cases: expected 1 or more"},
      {"-d NAIVE --layout NCHW", "--layout"}};
  for (const auto& [options, said] : calls) {
    const auto run = RunTool("model_reduce", model + options);
    EXPECT_EQ(run.exit_code, 2) << options << run.out;
    EXPECT_TRUE(Tells(run.out, said)) << options << "\n" << run.out;
  }
}

}  // namespace
}  // namespace plumb
