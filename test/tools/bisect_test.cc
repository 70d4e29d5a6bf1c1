// SPDX-License-Identifier: Apache-2.0
// model_bisect: which flag brings a fault; by runs that are counted, and through the tool.
#include "plumb/tool/bisect.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tools/command.h"

namespace plumb {
namespace {

using Names = std::vector<std::string>;

// A runtime with flags f0 ... that is wrong when `wrong` says so of what is on; `effects` are those that change bits.
struct Flags {
  int count;
  std::function<bool(const std::set<std::string>& on)> wrong;
  std::set<std::string> effects;
  int runs = 0;

  BisectReport Bisected(bool each = false) {
    BisectOptions options;
    for (int i = 0; i < count; ++i) options.alternatives.push_back("f" + std::to_string(i));
    options.each = each;
    options.run = [this](const Names& on) -> Result<BisectRun> {
      ++runs;
      const std::set<std::string> set(on.begin(), on.end());
      BisectRun run;
      run.wrong = wrong(set);
      run.verdict = run.wrong ? "wrong" : "aligned";
      run.bits = "b";
      for (const std::string& one : set) run.bits += effects.count(one) > 0 ? one : "";
      return run;
    };
    return Bisect(options).value();
  }
};

TEST(Bisection, OneCulpritTakesTheLogarithmAndAProof) {
  for (int culprit = 0; culprit < 16; ++culprit) {
    const std::string name = "f" + std::to_string(culprit);
    Flags flags{16, [&](const auto& on) { return on.count(name) > 0; }, {name}};
    const BisectReport report = flags.Bisected();
    ASSERT_EQ(report.together, (std::vector<Names>{{name}}));
    EXPECT_EQ(report.influences[static_cast<size_t>(culprit)], Influence::kBrings);
    EXPECT_LE(flags.runs, 2 + 4 + 2) << "none, all, log2(16), alone, all others";
    for (size_t i = 0; i < 16; ++i) {
      if (static_cast<int>(i) == culprit) continue;
      EXPECT_EQ(report.influences[i], Influence::kNoEffect) << i << " of " << name;
    }
  }
}

TEST(Bisection, TwoCulpritsAreBothFound) {
  Flags flags{12, [](const auto& on) { return on.count("f3") + on.count("f9") > 0; }, {"f3", "f9", "f5"}};
  const BisectReport report = flags.Bisected(true);
  EXPECT_EQ(report.together, (std::vector<Names>{{"f3"}, {"f9"}}));
  EXPECT_EQ(report.influences[5], Influence::kDoesNot);
  EXPECT_EQ(report.influences[6], Influence::kNoEffect);
}

TEST(Bisection, TwoThatBringItOnlyTogetherAreOneGroup) {
  Flags flags{10, [](const auto& on) { return on.count("f2") > 0 && on.count("f7") > 0; }, {"f2", "f7"}};
  BisectReport report = flags.Bisected();
  ASSERT_EQ(report.together.size(), 1u);
  std::sort(report.together[0].begin(), report.together[0].end());
  EXPECT_EQ(report.together[0], (Names{"f2", "f7"}));
}

TEST(Bisection, AFlagThatHealsIsFound) {
  Flags flags{8, [](const auto& on) { return on.count("f6") == 0; }, {"f6"}};
  const BisectReport report = flags.Bisected();
  EXPECT_EQ(report.together, (std::vector<Names>{{"f6"}}));
  EXPECT_EQ(report.influences[6], Influence::kHeals);
  EXPECT_NE(FormatBisectText(report, 200).find("'f6' heals it: wrong without, aligned with all"), std::string::npos);
}

TEST(Bisection, WhatChangesNoBitHasNoEffectAtAll) {
  Flags flags{4, [](const auto&) { return true; }, {}};
  const BisectReport report = flags.Bisected();
  EXPECT_FALSE(report.found());
  EXPECT_EQ(flags.runs, 2);
  EXPECT_EQ(report.influences, std::vector<Influence>(4, Influence::kNoEffect));
  EXPECT_NE(FormatBisectText(report, 200).find("all together have no effect at all"), std::string::npos);
}

TEST(Bisection, NamesAreThereAndDiffer) {
  BisectOptions options;
  EXPECT_FALSE(Bisect(options).ok());
  options.alternatives = {"a", "a"};
  EXPECT_FALSE(Bisect(options).ok());
}

bool Reports(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// The runtime: each flag is an expression for sed, which edits the network that model_run runs.
class ModelBisect : public testing::Test {
 protected:
  void SetUp() override {
    WriteText(folder_ + "/runtime.sh",
              "set -e\ndump=$1 model=$2 inputs=$3; shift 3\n"
              "net=$(mktemp -d " +
                  folder_ +
                  "/net-XXXXXX)\n"
                  "cp \"$model\" \"$net\"/net.tnnproto; cp \"${model%.tnnproto}.tnnmodel\" \"$net\"/net.tnnmodel\n"
                  "for flag in \"$@\"; do case $flag in\n"
                  "  mean) sed -i 's/relu2 pool2 0 /relu2 pool2 1 /' \"$net\"/net.tnnproto;;\n"
                  "  abs) sed -i 's/ReLU relu3/Abs relu3/' \"$net\"/net.tnnproto;;\n"
                  "esac; done\n"
                  "[ -z \"$RUNTIME_ABS\" ] || sed -i 's/ReLU relu3/Abs relu3/' \"$net\"/net.tnnproto\n"
                  "DUMP_INPUT_BLOB=1 DUMP_OUTPUT_BLOB=1 DUMP_BLOB_DIR=\"$dump\" " PLUMB_BIN_DIR
                  "/model_run -m \"$net\"/net.tnnproto -i \"$inputs\" -d NAIVE -q\n");
  }
  CommandResult Bisect(const std::string& options) const {
    return RunTool("model_bisect", "-m " PLUMB_EXAMPLES "/digits/digits.tnnproto --run 'sh " + folder_ +
                                       "/runtime.sh {dump} {model} {inputs} {flag}' " + options);
  }
  std::string folder_ = TestFolder("bisect");
};

TEST_F(ModelBisect, NamesTheFlagAndTheCommand) {
  const auto run = Bisect("--flags one two mean three four --json " + folder_ + "/runs.jsonl");
  EXPECT_EQ(run.exit_code, 0) << run.out;
  EXPECT_TRUE(Reports(run.out, "'mean' brings it: aligned without, wrong at 'pool2' (Pooling) with all")) << run.out;
  EXPECT_TRUE(Reports(run.out, "has no effect at all")) << run.out;
  EXPECT_TRUE(Reports(run.out, "Again: ")) << run.out;
  EXPECT_TRUE(Reports(run.out, "--flags=mean")) << run.out;
  EXPECT_TRUE(Reports(ReadText(folder_ + "/runs.jsonl"), R"("together":[["mean"]])"));
}

TEST_F(ModelBisect, FindsAFlagAndAVariable) {
  const auto run = Bisect("--flags one mean --env RUNTIME_ABS=1 OTHER=2");
  EXPECT_EQ(run.exit_code, 0) << run.out;
  EXPECT_TRUE(Reports(run.out, "'mean' brings it")) << run.out;
  EXPECT_TRUE(Reports(run.out, "'RUNTIME_ABS=1' brings it")) << run.out;
  // Of one layer alone.
  const auto layer = Bisect("--flags one mean --env RUNTIME_ABS=1 OTHER=2 --layers relu3");
  EXPECT_FALSE(Reports(layer.out, "'mean' brings it")) << layer.out;
  EXPECT_TRUE(Reports(layer.out, "'RUNTIME_ABS=1' brings it")) << layer.out;
}

TEST_F(ModelBisect, NothingThatBringsItIsExitCodeOne) {
  const auto run = Bisect("--flags one two");
  EXPECT_EQ(run.exit_code, 1) << run.out;
  EXPECT_TRUE(Reports(run.out, "not a bit changes")) << run.out;
  const auto device = RunTool("model_bisect", "-m " PLUMB_EXAMPLES
                                              "/digits/digits.tnnproto -d NAIVE --flags "
                                              "'--threads 1' '--algorithms direct'");
  EXPECT_EQ(device.exit_code, 1) << device.out;
  EXPECT_TRUE(Reports(device.out, "have no effect at all")) << device.out;
}

TEST_F(ModelBisect, WhatCannotBeDoneIsOneSentence) {
  const std::string model = "-m " PLUMB_EXAMPLES "/digits/digits.tnnproto ";
  const std::pair<const char*, const char*> calls[] = {
      {"--flags a", "name a command with --run, or a device with -d"},
      {"--run 'true {model}' --flags a", "lacks {dump}"},
      {"--run 'true {model} {dump}' --flags a", "lacks {flag}"},
      {"--run 'true {model} {dump} {flag}'", "nothing is named"},
      {"--run 'exit 3; {model} {dump} {flag}' --flags a", "exit code 3"},
      {"--run 'true {model} {dump} {flag}' --env A", "expected NAME=VALUE"},
      {"--run 'true {model} {dump} {flag}' --env 'A;B=1'", "expected NAME=VALUE"}};
  for (const auto& [options, said] : calls) {
    const auto run = RunTool("model_bisect", model + options);
    EXPECT_EQ(run.exit_code, 2) << options << run.out;
    EXPECT_TRUE(Reports(run.out, said)) << options << "\n" << run.out;
  }
}

}  // namespace
}  // namespace plumb
