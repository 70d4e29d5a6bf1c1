// SPDX-License-Identifier: Apache-2.0
// model_check --inputs: many samples, then the worst one layer by layer.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

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
  const auto alone = Check(options + " --samples-only", absent);
  EXPECT_EQ(alone.exit_code, 3) << alone.out;
  EXPECT_TRUE(Has(alone.out, absent)) << alone.out;
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

std::string TextOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// One process, several, and parts that lie behind each other give the same bytes.
TEST_F(ManySamples, TheSameBytesWhoeverRunsThem) {
  const std::string options = "-q --samples-only --inputs " + folder_ + "/images --results " + folder_;
  ASSERT_EQ(Check(options + "/loop.jsonl --executor loop").exit_code, 0);
  const std::string expected = TextOf(folder_ + "/loop.jsonl");
  EXPECT_EQ(std::count(expected.begin(), expected.end(), '\n'), 11) << expected;
  for (const char* workers : {"1", "3"}) {
    const std::string results = folder_ + "/of" + workers;
    const auto run = Check(options + "/of" + workers + " --workers " + workers);
    EXPECT_EQ(run.exit_code, 0) << run.out;
    EXPECT_TRUE(Has(run.out, "samples 10 run on NAIVE and on the reference: the answer is the same for 10")) << run.out;
    EXPECT_FALSE(Has(run.out, "ALIGNED")) << run.out;
    EXPECT_EQ(TextOf(results), expected);
  }
  std::string parts;
  for (const char* part : {"1/2", "2/2"}) {
    const std::string file = folder_ + "/part" + part[0];
    EXPECT_EQ(Check("-q --inputs " + folder_ + "/images --results " + file + " --part " + part).exit_code, 0);
    parts += TextOf(file);
  }
  WriteText(folder_ + "/parts", parts);
  const auto joined = Check(options + "/parts --executor loop");
  EXPECT_TRUE(Has(joined.out, "; 10 were done before\n")) << joined.out;
  EXPECT_EQ(TextOf(folder_ + "/parts"), expected);
}

// Also where all samples of a process are broken.
TEST_F(ManySamples, BrokenSamplesStopNoProcess) {
  for (int i = 0; i < 10; i += 2) WriteText(folder_ + "/images/digit_" + std::to_string(i) + ".png", "no image");
  const std::string options = "-q --samples-only --inputs " + folder_ + "/images --results " + folder_;
  EXPECT_EQ(Check(options + "/loop --executor loop").exit_code, 2);
  const auto run = Check(options + "/two --workers 2");
  EXPECT_EQ(run.exit_code, 2) << run.out;
  EXPECT_TRUE(Has(run.out, "5 of 10 samples could not be run (above)")) << run.out;
  EXPECT_EQ(TextOf(folder_ + "/two"), TextOf(folder_ + "/loop"));
}

// A file of results that is another's is named as it was given, and stays as it is.
TEST_F(ManySamples, ResultsOfOthersAreRefusedBeforeAnyProcess) {
  const std::string results = folder_ + "/results", call = "--inputs " + folder_ + "/images --workers 2 --results ";
  for (const std::string& text :
       {std::string("{\"died\":\"x\",\"sample\":\"a\",\"device\":3}\n"),
        std::string("{\"format\":\"plumb-samples\",\"model\":\"other\"}\n"), std::string("a picture")}) {
    WriteText(results, text);
    const auto run = Check(call + results);
    EXPECT_EQ(run.exit_code, 2) << run.out;
    EXPECT_TRUE(Has(run.out, "'" + results + "': expected the results of this network")) << run.out;
    EXPECT_EQ(TextOf(results), text);
  }
}

TEST_F(ManySamples, APartBeyondTheLastSampleIsEmpty) {
  const auto run = Check("-q --inputs " + folder_ + "/images --results " + folder_ + "/r --part 20/30");
  EXPECT_EQ(run.exit_code, 0) << run.out;
}

// A subject in a folder of dumps: of one digit it has another one's.
TEST_F(ManySamples, ASubjectOfEachSample) {
  const std::string digits = std::string(PLUMB_EXAMPLES) + "/digits/";
  for (int digit = 0; digit < 10; ++digit) {
    const std::string name = "digit_" + std::to_string(digit), image = digit == 3 ? "digit_8" : name;
    const auto run = RunTool(
        "model_run",
        "-m " + digits + "digits.tnnproto -d NAIVE -n 120 -s 0.0078125 -i " + digits + "images/" + image + ".png 2>&1",
        "DUMP_OUTPUT_BLOB=1 DUMP_BLOB_DIR=" + folder_ + "/dumps/" + name);
    ASSERT_EQ(run.exit_code, 0) << run.out;
  }
  const std::string call = std::string("-m ") + digits + "digits.tnnproto -n 120 -s 0.0078125 --inputs " + folder_ +
                           "/images --subject " + folder_ + "/dumps 2>&1";
  const auto run = RunTool("model_check", call);
  EXPECT_EQ(run.exit_code, 1) << run.out;
  EXPECT_TRUE(Has(run.out, "samples 10 of the subject and of the reference: the answer is the same for 9")) << run.out;
  EXPECT_TRUE(Has(run.out, "digit_3.png  prob    #3 -> #8")) << run.out;
  EXPECT_TRUE(Has(run.out, "The worst sample, 'digit_3.png', layer by layer:")) << run.out;
  EXPECT_TRUE(Has(run.out, "FAILED: subject wrong at 'conv1'")) << run.out;
}

TEST_F(ManySamples, MistakesAreOneSentence) {
  const std::pair<std::string, std::string> mistakes[] = {
      {"--inputs " + folder_ + "/nowhere", "' does not exist"},
      {"--inputs " + std::string(PLUMB_EXAMPLES) + "/digits/digits.tnnproto", "expected samples as a folder"},
      {"--results x.jsonl -i " + folder_ + "/images/digit_1.png", "--results is of --inputs: give both"},
      {"--workers 2 -i " + folder_ + "/images/digit_1.png", "--workers does nothing without --inputs"},
      {"--inputs " + folder_ + "/images --part 1/2", "--part does nothing without --results"},
      {"--inputs " + folder_ + "/images --results " + folder_ + "/r --part 3/2",
       "--part: expected K/N with 1 <= K <= N, such as 2/8, found '3/2'"},
      {"--inputs " + folder_ + "/images --executor loop --workers 2", "--workers does nothing with --executor loop"},
      {"--inputs " + folder_ + "/images --results " + folder_ + "/r --part 1/2 --workers 2",
       "--workers does nothing with --part"},
      {"--inputs " + folder_ + "/images --workers -1", "--workers: expected 0 to 1024, found -1"},
      {"--inputs " + folder_ + "/images --samples-only --full", "no layer is judged"},
      {"--inputs " + folder_ + "/images --executor spark", "--executor: expected processes, loop or ray"},
      {"--inputs " + folder_ + "/images --golden " + folder_ + "/none",
       "the golden '" + folder_ + "/none' does not exist"},
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
