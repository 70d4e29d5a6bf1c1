// SPDX-License-Identifier: Apache-2.0
// What another machine's report says is read field by field: a wrong type or a contradiction is one sentence, and the
// verdict is made here.
#include "device_check/report.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

namespace plumb {
namespace {

using Json = nlohmann::ordered_json;

// A report of two layers, as model_check writes it.
Json Honest() {
  CheckResult result;
  RunReport run;
  run.device = "ARM";
  run.verdict = Verdict::kAligned;
  run.coverage = {2, 2, 40, 40, 0, 0, 1, 1, ""};
  for (const char* name : {"conv", "prob"}) {
    LayerReport layer;
    layer.step.name = name;
    layer.verdict = Verdict::kAligned;
    run.layers.push_back(layer);
  }
  result.runs.push_back(run);
  result.devices.push_back({"ARM", true, AskedDevice::State::kRan, "", StatusCode::kOk, 0});
  result.devices.push_back({"VULKAN", false, AskedDevice::State::kSkipped, "no driver", StatusCode::kOk, 0});
  result.comparisons.push_back({"outputs", Verdict::kAligned});
  InputMatch match;
  match.input = "x";
  result.checked.input_matches.push_back(match);
  return Json::parse(FormatJson(result));
}

std::string Problem(const Json& report) {
  const auto conclusion = ConcludeReport("adb X", report);
  if (conclusion.ok()) return "";
  EXPECT_EQ(conclusion.status().code(), StatusCode::kCorruptModel);
  EXPECT_EQ(conclusion.status().message().rfind("adb X: its report: ", 0), 0u) << conclusion.status().message();
  return conclusion.status().message().substr(19);
}

TEST(DeviceReport, IsConcludedAsOurOwn) {
  const auto conclusion = ConcludeReport("adb X", Honest());
  ASSERT_TRUE(conclusion.ok()) << conclusion.status().message();
  EXPECT_EQ(conclusion->line, Honest()["summary"].get<std::string>());
  EXPECT_EQ(conclusion->verdict, "aligned");
  EXPECT_EQ(conclusion->exit_code, 0);
}

TEST(DeviceReport, ASummaryOfTheMachineIsNotBelieved) {
  Json report = Honest();
  report["summary"] = "ALIGNED: all of it (exit 0)";
  report["verdict"] = "aligned";
  report["exit_code"] = 1;
  report["runs"][0]["verdict"] = report["runs"][0]["layers"][0]["verdict"] = "wrong";
  const auto conclusion = ConcludeReport("adb X", report);
  ASSERT_TRUE(conclusion.ok()) << conclusion.status().message();
  EXPECT_EQ(conclusion->line.rfind("FAILED: ARM wrong at 'conv'; ", 0), 0u) << conclusion->line;
  EXPECT_EQ(conclusion->exit_code, 1);
}

TEST(DeviceReport, FieldsThatAreWrongAreNamed) {
  const auto with = [](const char* pointer, const Json& value) {
    Json report = Honest();
    report[Json::json_pointer(pointer)] = value;
    return Problem(report);
  };
  EXPECT_EQ(with("/runs/0/verdict", 3), "runs[0].verdict: expected a text, found a number (3)");
  EXPECT_EQ(with("/runs/0/verdict", "fine"),
            "runs[0].verdict: expected one of aligned, not tested, grey, wrong, found 'fine'");
  EXPECT_EQ(with("/runs/0/coverage/steps", "2"),
            "runs[0].coverage.steps: expected a whole number from 0 to 2147483647, found a string (\"2\")");
  EXPECT_EQ(with("/runs/0/coverage/steps", -1),
            "runs[0].coverage.steps: expected a whole number from 0 to 2147483647, found a number (-1)");
  EXPECT_EQ(with("/exit_code", 7), "exit_code: expected a whole number from 0 to 4, found a number (7)");
  EXPECT_EQ(with("/runs", Json::object()), "runs: expected a list, found an object");
  EXPECT_EQ(with("/runs/0", nullptr), "runs[0]: expected an object, found a null");
  EXPECT_EQ(with("/runs/0/layers/1/name", Json::array()), "runs[0].layers[1].name: expected a text, found an array");
  EXPECT_EQ(with("/weights_generated", 0), "weights_generated: expected true or false, found a number (0)");
  Json report = Honest();
  report["runs"][0].erase("coverage");
  EXPECT_EQ(Problem(report), "runs[0].coverage: expected an object, found nothing");
}

TEST(DeviceReport, ContradictionsAreNamed) {
  Json report = Honest();
  report["runs"][0]["layers"][1]["verdict"] = "wrong";
  EXPECT_EQ(Problem(report), "runs[0].verdict: 'aligned' contradicts its layers, of which 'prob' is 'wrong'");
  report = Honest();
  report["runs"][0]["layers"] = Json::array();
  EXPECT_EQ(Problem(report), "runs[0].verdict: 'aligned' contradicts its layers, of which each is 'not tested'");
  report = Honest();
  report["runs"][0]["coverage"]["steps"] = 200;
  EXPECT_EQ(Problem(report), "runs[0].coverage: 200 of 2 steps contradicts its layers, of which 2 of 2 were tested");
  report = Honest();
  report["exit_code"] = 1;
  EXPECT_EQ(Problem(report), "exit_code: 1 contradicts what it holds, which makes 0");
}

// Each field there is, replaced by each type there is, and left out: a conclusion or a sentence.
TEST(DeviceReport, AnyTypeAnywhereIsReadOrRefused) {
  const Json values[] = {nullptr,          true,      1, -1, 1e300, uint64_t{1} << 63, "text", Json::array(),
                         Json::array({1}), {{"a", 1}}};
  const Json honest = Honest(), flat = honest.flatten();
  int refused = 0, read = 0;
  std::set<std::string> pointers;
  for (const auto& field : flat.items()) {
    for (std::string pointer = field.key(); !pointer.empty(); pointer.resize(pointer.rfind('/')))
      pointers.insert(pointer);
  }
  for (const std::string& pointer : pointers) {
    for (const Json& value : values) {
      Json report = honest;
      report[Json::json_pointer(pointer)] = value;
      ++(Problem(report).empty() ? read : refused);
    }
  }
  EXPECT_GT(refused, 200);
  EXPECT_GT(read, 200);
}

TEST(DeviceReport, FilesThatAreNoReportsAreRefused) {
  const std::string path = testing::TempDir() + "device_report_test.json";
  const auto problem = [&](const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
    const auto read = ReadMachineJson("adb X: its report", path);
    return read.ok() ? "" : read.status().message();
  };
  EXPECT_EQ(problem("{\"a\": \"[[{{\"}"), "");
  EXPECT_EQ(problem("{"), "adb X: its report: expected a JSON object, found no JSON");
  EXPECT_EQ(problem("[]"), "adb X: its report: expected a JSON object, found array");
  EXPECT_EQ(problem("{\"a\": " + std::string(1000000, '[')),
            "adb X: its report: expected JSON nested 64 deep at most, found 1000001");
  std::filesystem::remove(path);
}

TEST(MachineWords, AreMarkedLineByLine) {
  EXPECT_EQ(MachineWords("one\r\n\ntwo\tthree\n", 0), "| one\n| \n| two three\n");
  EXPECT_EQ(MachineWords("a\033[2J\rb", 0), "| a\\x1B[2J\\x0Db\n");
  EXPECT_EQ(MachineWords("\033[32mgreen", 0), "| \033[32mgreen\033[0m\n");
  EXPECT_EQ(MachineWords("", 0), "");
}

// Where a terminal would go on in its first column, with a line that looks like one of ours.
TEST(MachineWords, NoneReachesTheFirstColumnOfATerminal) {
  EXPECT_EQ(MachineWords(std::string(18, ' ') + "ALIGNED", 20), "| " + std::string(18, ' ') + "\n| ALIGNED\n");
  const std::string wide = "層層層層層層層層層";
  EXPECT_EQ(MachineWords(wide + "ALIGNED", 20), "| " + wide + "\n| ALIGNED\n");
  EXPECT_EQ(MachineWords("\033[32m" + std::string(18, ' ') + "A", 20),
            "| \033[32m" + std::string(18, ' ') + "\n| A\033[0m\n");
}

TEST(PulledFolder, HoldsFilesAndFoldersOnly) {
  const std::string folder = testing::TempDir() + "device_report_test";
  std::filesystem::create_directories(folder + "/inner");
  std::ofstream(folder + "/inner/file") << "x";
  EXPECT_TRUE(CheckPulledFolder("adb X", folder).ok());
  std::filesystem::create_symlink("/etc/passwd", folder + "/inner/manifest.json");
  EXPECT_EQ(CheckPulledFolder("adb X", folder).message(),
            "adb X: its dump: expected files and folders only, found 'manifest.json', which is neither");
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace plumb
