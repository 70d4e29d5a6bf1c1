// SPDX-License-Identifier: Apache-2.0
// model_check --inputs: many samples, then the worst one layer by layer.
#include <gtest/gtest.h>

#include <filesystem>

#include "tools/command.h"

namespace plumb {
namespace {

bool Has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

class ManySamples : public testing::Test {
 protected:
  ManySamples() {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    std::filesystem::copy(std::string(PLUMB_EXAMPLES) + "/digits/images", folder_ + "/images");
  }
  ~ManySamples() override { std::filesystem::remove_all(folder_); }
  CommandResult Check(const std::string& options, const std::string& device = "NAIVE",
                      const std::string& environment = "") const {
    return RunTool("model_check",
                   std::string("-m ") + PLUMB_EXAMPLES + "/digits/digits.tnnproto -d " + device +
                       " -n 120 -s 0.0078125 " + options + " 2>&1",
                   environment);
  }
  const std::string folder_ = testing::TempDir() + "plumb_many_" + std::to_string(getpid());
};

TEST_F(ManySamples, AllAreRunAndTheWorstIsChecked) {
  const std::string results = folder_ + "/results.jsonl";
  const auto run = Check("--inputs " + folder_ + "/images --results " + results);
  EXPECT_EQ(run.exit_code, 0) << run.out;
  EXPECT_TRUE(Has(run.out,
                  "samples 10 run on NAIVE and on the reference: the answer is the same for 10 (100.0 %, 95 % "
                  "interval 72.2 to 100.0 %)\n"))
      << run.out;
  EXPECT_TRUE(Has(run.out, "The worst sample, 'digit_")) << run.out;
  EXPECT_TRUE(Has(run.out, "ALIGNED: NAIVE aligned; 10 of 10 steps")) << run.out;
  const auto again = Check("--quiet --inputs " + folder_ + "/images --results " + results);
  EXPECT_TRUE(Has(again.out, "; 10 were done before\n")) << again.out;
}

TEST_F(ManySamples, ABrokenSampleStopsNothing) {
  WriteText(folder_ + "/images/broken.png", "no image");
  const auto run = Check("--inputs " + folder_ + "/images");
  EXPECT_EQ(run.exit_code, 2) << run.out;
  EXPECT_TRUE(Has(run.out, "samples 10 run on NAIVE")) << run.out;
  EXPECT_TRUE(Has(run.out, "'broken.png' could not be run: ")) << run.out;
  EXPECT_TRUE(Has(run.out, "1 of 11 samples could not be run (above)")) << run.out;
  EXPECT_TRUE(Has(run.out, "NAIVE: all aligned: 10 aligned")) << "the worst one is checked all the same\n" << run.out;
}

// Several devices share the file of results; one that is not there is said as without samples.
TEST_F(ManySamples, OnSeveralDevices) {
  const std::string options = "--quiet --inputs " + folder_ + "/images --results " + folder_ + "/results.jsonl";
  const auto run = Check(options, "ALL");
  EXPECT_EQ(run.exit_code, 0) << run.out;
  EXPECT_FALSE(Has(run.out, "were done before")) << run.out;
  const auto again = Check(options, "ALL");
  EXPECT_EQ(again.exit_code, 0) << again.out;
  EXPECT_TRUE(Has(again.out, "; 10 were done before\n")) << again.out;
  const std::string absent = Has(run.out, "ARM and on") ? "X86" : "ARM";
  EXPECT_EQ(Check(options, absent).exit_code, 3);
}

// The dump is that of the sample that is looked at.
TEST_F(ManySamples, TheWorstAloneIsDumped) {
  const std::string dump = folder_ + "/dump";
  const auto run =
      Check("--quiet --inputs " + folder_ + "/images", "NAIVE", "DUMP_OUTPUT_BLOB=1 DUMP_BLOB_DIR=" + dump);
  EXPECT_EQ(run.exit_code, 0) << run.out;
  EXPECT_TRUE(std::filesystem::exists(dump + "/manifest.json"));
  EXPECT_FALSE(std::filesystem::exists(dump + "/network-2"));
}

TEST_F(ManySamples, MistakesAreOneSentence) {
  const std::pair<std::string, std::string> mistakes[] = {
      {"--inputs " + folder_ + "/nowhere", "' does not exist"},
      {"--inputs " + std::string(PLUMB_EXAMPLES) + "/digits/digits.tnnproto", "expected samples as a folder"},
      {"--results x.jsonl -i " + folder_ + "/images/digit_1.png", "--results is of --inputs: give both"},
      {"--inputs " + folder_ + "/images -f x.txt", "it names the inputs of many runs"},
      {"--inputs " + folder_ + "/images -i " + folder_ + "/images/digit_1.png", "it names the inputs of many runs"}};
  for (const auto& [options, words] : mistakes) {
    const auto run = Check(options);
    EXPECT_EQ(run.exit_code, 2) << run.out;
    EXPECT_TRUE(Has(run.out, words)) << run.out;
  }
}

}  // namespace
}  // namespace plumb
