// SPDX-License-Identifier: Apache-2.0
// model_check in continuous integration: --junit and --baseline.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tools/command.h"

namespace plumb {
namespace {

const std::string kDigits = std::string("-m ") + PLUMB_EXAMPLES + "/digits/digits.tnnproto";

bool Says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

int CountOf(const std::string& part, const std::string& text) {
  int count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(ModelCheckBaseline, WhatGotWorseFails) {
  const std::string file = TestFolder("baseline") + "/baseline.json";
  const std::string check = kDigits + " -d NAIVE --baseline " + file;
  const auto missing = RunTool("model_check", check);
  EXPECT_EQ(missing.exit_code, 2) << missing.out;
  EXPECT_TRUE(Says(missing.out, "--update-baseline makes it")) << missing.out;
  EXPECT_EQ(RunTool("model_check", kDigits + " -d NAIVE --update-baseline").exit_code, 2);
  EXPECT_EQ(RunTool("model_check", check + " --update-baseline").exit_code, 0);
  const auto same = RunTool("model_check", check);
  EXPECT_EQ(same.exit_code, 0) << same.out;
  EXPECT_TRUE(Says(same.out, "baseline " + file + " aligned")) << same.out;

  const auto one = RunTool("model_check", check + " --layers relu3");
  EXPECT_EQ(one.exit_code, 0) << "only what was judged can be worse\n" << one.out;

  auto json = nlohmann::json::parse(ReadText(file));
  auto& layers = json["checks"].begin().value()["NAIVE"];
  layers["00042 gone"] = {{"verdict", "aligned"}, {"E", 0}, {"R", 0}};
  WriteText(file, json.dump());
  const auto worse = RunTool("model_check", check + " --json " + file + ".report");
  EXPECT_EQ(worse.exit_code, 1) << worse.out;
  EXPECT_TRUE(Says(worse.out, "worse than before: NAIVE, layer 00042 gone: it was aligned, and is not there any more"))
      << worse.out;
  EXPECT_EQ(nlohmann::json::parse(ReadText(file + ".report"))["verdict"], "wrong");

  WriteText(file, "{}");
  const auto broken = RunTool("model_check", check + " --update-baseline");
  EXPECT_EQ(broken.exit_code, 2) << broken.out;
  EXPECT_EQ(ReadText(file), "{}") << "what is no baseline is not overwritten";
}

TEST(ModelCheckJunit, ACasePerStepAndDevice) {
  const std::string file = TestFolder("junit") + "/junit.xml";
  ASSERT_EQ(RunTool("model_check", kDigits + " -d NAIVE --junit " + file).exit_code, 0);
  const std::string right = ReadText(file);
  EXPECT_TRUE(Says(right, "<testsuite name=\"NAIVE\" tests=\"11\" failures=\"0\" errors=\"0\" skipped=\"0\">"))
      << right;
  EXPECT_EQ(CountOf("<testcase ", right), 12) << "ten layers, the run's verdict, the conclusion\n" << right;
  EXPECT_TRUE(Says(right, " relu3 (ReLU)\"")) << right;

  ASSERT_EQ(RunTool("model_check", kDigits + " -d NAIVE,ARM --junit " + file).exit_code, 3);
  EXPECT_EQ(CountOf("<error ", ReadText(file)), 1) << ReadText(file);
  ASSERT_EQ(RunTool("model_check", "-m 'no<where>&.onnx' --junit " + file).exit_code, 2);
  const std::string failed = ReadText(file);
  EXPECT_TRUE(Says(failed, "no&lt;where&gt;&amp;.onnx")) << failed;
  EXPECT_TRUE(Says(failed, "errors=\"1\"")) << failed;
}

}  // namespace
}  // namespace plumb
