// SPDX-License-Identifier: Apache-2.0
// model_check --op through its real command line.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tools/command.h"

namespace plumb {
namespace {

bool Has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::string Given() {
  const std::string folder = TestFolder("operator");
  WriteText(folder + "/x.txt", "1\n2\n-3\n");
  WriteText(folder + "/right.txt", "1\n2\n0\n");
  WriteText(folder + "/wrong.txt", "1\n2\n-3\n");
  return folder;
}

TEST(Operator, ExitCodeAndOneLineSayTheVerdict) {
  const std::string folder = Given(), call = "--op relu --input " + folder + "/x.txt --output " + folder;
  const auto right = RunTool("model_check", call + "/right.txt");
  EXPECT_EQ(right.exit_code, 0) << right.out;
  EXPECT_TRUE(Has(right.out, "relu: aligned: E 0, R 0, as fp32")) << right.out;
  const auto wrong = RunTool("model_check", call + "/wrong.txt --json " + folder + "/j.json");
  EXPECT_EQ(wrong.exit_code, 1) << wrong.out;
  EXPECT_TRUE(Has(wrong.out, "worst at [2]: -3 for 0")) << wrong.out;
  const auto json = nlohmann::json::parse(ReadText(folder + "/j.json"));
  EXPECT_EQ(json["verdict"], "wrong");
  EXPECT_EQ(json["outputs"][0]["worst"]["index"], nlohmann::json({2}));
}

TEST(Operator, AttributesAreNumbersListsOrText) {
  const std::string folder = Given(), files = " --input " + folder + "/x.txt --output " + folder + "/right.txt";
  EXPECT_EQ(RunTool("model_check", "--op leaky_relu --attr negative_slope=0" + files).exit_code, 0);
  EXPECT_EQ(RunTool("model_check", "--op leaky_relu --attr negative_slope=0.5" + files).exit_code, 1);
  EXPECT_EQ(RunTool("model_check", "--op gelu --attr approximate=tanh" + files).exit_code, 1);
  EXPECT_EQ(RunTool("model_check",
                    "--op transpose --attr axes=0 --input " + folder + "/x.txt --output " + folder + "/wrong.txt")
                .exit_code,
            0);
}

TEST(Operator, WhatCannotBeJudgedIsOneSentence) {
  const std::string folder = Given(), files = " --input " + folder + "/x.txt --output " + folder + "/right.txt";
  const std::pair<const char*, const char*> cases[] = {
      {"--op relo", "there is no operator 'relo' here; did you mean 'relu'?"},
      {"--op relu --attr axis", "an attribute: expected NAME=VALUE, found 'axis'"},
      {"--op relu --attr axis=1", "relu has no attribute 'axis'"},
      {"--op relu --arithmetic fp17", "(of one operator also fp16+f16-sums and bf16+bf16-sums)"}};
  for (const auto& [words, part] : cases) {
    const auto run = RunTool("model_check", words + files);
    EXPECT_EQ(run.exit_code, 2) << run.out;
    EXPECT_TRUE(Has(run.out, part)) << run.out;
  }
  EXPECT_TRUE(Has(RunTool("model_check", "--op relu").out, "-i is missing"));
}

}  // namespace
}  // namespace plumb
