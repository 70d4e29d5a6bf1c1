// SPDX-License-Identifier: Apache-2.0
// What the reports show: greys of one cause on one line, the legend once, Markdown and JUnit for continuous
// integration, the whole command.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "check/report/util.h"
#include "plumb/graph.h"

namespace plumb {
namespace {

bool Has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

LayerReport StepOf(int index, Verdict verdict, double excess, const std::string& cause = "") {
  LayerReport layer;
  layer.step.index = index;
  layer.step.name = "layer" + std::to_string(index);
  layer.step.members.push_back({index, layer.step.name, "Mul", {}, ""});
  layer.verdict = verdict;
  layer.cause = cause;
  layer.reason = cause.empty() ? "" : cause + ", on whose own inputs it is within the bound";
  OutputReport output;
  output.blob = layer.step.name;
  output.verdict = verdict;
  output.excess = excess;
  output.shape = Shape({10});
  layer.outputs.push_back(output);
  return layer;
}

// Sixteen greys of one cause, each with its own layers in brackets, one of another cause, one without.
RunReport Greys() {
  RunReport run;
  run.device = "X86";
  run.precision = "HIGH";
  run.verdict = Verdict::kGrey;
  for (int i = 0; i < 16; ++i) {
    const std::string names = " ('add" + std::to_string(i) + "', 'clip')";
    run.layers.push_back(StepOf(i, Verdict::kGrey, 0.01 * (i + 5), "computed as one fused HardSwish" + names));
  }
  run.layers.push_back(StepOf(16, Verdict::kGrey, 1.5, "half away from zero"));
  run.layers.push_back(StepOf(17, Verdict::kGrey, 1.25));
  return run;
}

TEST(ReportGreys, OfOneCauseAreOneLine) {
  const RunReport run = Greys();
  const std::string text = FormatText({}, run, {});
  EXPECT_TRUE(Has(text, "16 steps grey: computed as one fused HardSwish, worst E 0.20 at 'layer15'")) << text;
  EXPECT_FALSE(Has(text, "\n00003  ")) << text;
  EXPECT_TRUE(Has(text, "\n00016  ")) << "alone with its cause\n" << text;
  EXPECT_TRUE(Has(text, "\n00017  ")) << text;
  EXPECT_FALSE(Has(text, "blob 'layer16'")) << "numbers of what is explained wait for --full\n" << text;
  EXPECT_TRUE(Has(text, "blob 'layer17'")) << text;
  ReportStyle full;
  full.full = true;
  const std::string every = FormatText({}, run, full);
  EXPECT_TRUE(Has(every, "\n00003  ")) << every;
  EXPECT_TRUE(Has(every, "blob 'layer3'")) << every;
  EXPECT_FALSE(Has(every, "steps grey:")) << every;
}

TEST(ReportLegend, IsLeftOutWhereItWasSaid) {
  ReportStyle style;
  EXPECT_TRUE(Has(FormatText({}, Greys(), style), "legend  "));
  style.legend = false;
  const std::string text = FormatText({}, Greys(), style);
  EXPECT_FALSE(Has(text, "legend  ") || Has(text, "rule    ")) << text;
}

CheckResult Wrong() {
  CheckResult result;
  result.checked.model = "net_a.onnx";
  result.checked.reproduce = "model_check -m net_a.onnx";
  RunReport run;
  run.device = "X86";
  run.verdict = Verdict::kWrong;
  run.layers = {StepOf(0, Verdict::kAligned, 0.5), StepOf(1, Verdict::kWrong, 70)};
  run.layers[1].reason = "alpha 0.1 in place of 0.01 | *sic*";
  run.first_wrong = 1;
  result.runs.push_back(run);
  AskedDevice asked;
  asked.device = "X86";
  asked.state = AskedDevice::State::kRan;
  result.devices = {asked};
  result.comparisons.push_back(
      {"baseline b.json", Verdict::kWrong, {"X86, layer 00001 layer1: E 0.1 -> 70, R 0 -> 3"}});
  return result;
}

TEST(ReportForCi, MarkdownNamesTheLayerAndTheCommand) {
  const std::string text = FormatMarkdown(Wrong());
  EXPECT_TRUE(Has(text, "### model_check: net\\_a.onnx")) << text;
  EXPECT_TRUE(Has(text, "| X86 | wrong |")) << text;
  EXPECT_TRUE(Has(text, "| 1 layer1 | Mul | 70 |")) << text;
  EXPECT_TRUE(Has(text, "in place of 0.01 \\| \\*sic\\*")) << "nobody's text is markup\n" << text;
  EXPECT_TRUE(Has(text, "- worse than the baseline: X86, layer 00001 layer1: E 0.1 -")) << text;
  EXPECT_TRUE(Has(text, "Reproduce: `model_check -m net_a.onnx -d X86`")) << text;
}

TEST(ReportForCi, JunitOfABaselineNamesLayerAndNumbers) {
  const std::string text = FormatJunit(Wrong());
  EXPECT_TRUE(Has(text, "name=\"baseline: X86, layer 00001 layer1\"")) << text;
  EXPECT_TRUE(Has(text, "<failure message=\"X86, layer 00001 layer1: E 0.1 -&gt; 70, R 0 -&gt; 3\"/>")) << text;
  EXPECT_TRUE(Has(Conclude(Wrong()).line, "baseline b.json wrong: X86, layer 00001 layer1: E 0.1 -> 70"));
}

TEST(ReportForCi, SarifHasAResultPerStepThatIsNotAligned) {
  CheckResult result = Wrong();
  result.checked.model = "a folder/n\xc3\xa9t.onnx";
  const auto log = nlohmann::json::parse(FormatSarif(result));
  EXPECT_EQ(log["version"], "2.1.0");
  const auto& run = log["runs"][0];
  EXPECT_EQ(run["tool"]["driver"]["name"], "Plumb");
  EXPECT_EQ(run["invocations"][0]["exitCode"], 1);
  size_t errors = 0;
  for (const auto& one : run["results"]) {
    EXPECT_EQ(one["ruleId"], run["tool"]["driver"]["rules"][one["ruleIndex"].get<size_t>()]["id"]);
    EXPECT_EQ(one["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], "a%20folder/n%C3%A9t.onnx");
    EXPECT_NE(one["message"]["text"], "");
    errors += one["level"] == "error" && one.dump().find("{\"layer/v1\":\"X86/layer1\"}") != std::string::npos ? 1 : 0;
  }
  EXPECT_EQ(errors, 1u) << log.dump(1);
}

TEST(ReportForCi, ModelExplorerHasAValuePerTensor) {
  CheckResult result = Wrong();
  result.runs[0].layers[1].outputs[0].excess = INFINITY;
  GraphBuilder builder;
  builder.Input("x", Shape({10})).Add("ReLU", {"x"}, {"fused away"}).Add("ReLU", {"fused away"}, {"layer1"});
  result.model = std::make_shared<const Graph>(builder.Output("layer1").Build().value());
  result.runs[0].layers[1].step.members = {{0, "fused away", "ReLU", {}, ""}, {1, "layer1", "ReLU", {}, ""}};
  const auto data = nlohmann::json::parse(FormatModelExplorer(result));
  EXPECT_EQ(data["results"]["layer0"]["value"], 0.5);
  EXPECT_EQ(data["results"]["layer1"]["value"], 1e9) << "JSON has no infinity";
  EXPECT_EQ(data["results"]["fused away"], data["results"]["layer1"]);
  EXPECT_NE(data["results"]["layer0"]["bgColor"], data["results"]["layer1"]["bgColor"]);
  EXPECT_EQ(data["thresholds"].size(), 3u);
  Graph named = *result.model;  // by the file's nodes, too: these go first
  named.layers[0].nodes = {"a node"}, named.layers[1].nodes = {"layer0"};
  result.model = std::make_shared<const Graph>(std::move(named));
  const auto by_node = nlohmann::json::parse(FormatModelExplorer(result))["results"];
  EXPECT_EQ(by_node["a node"]["value"], 1e9);
  EXPECT_EQ(by_node["layer0"]["value"], 1e9) << "the node of that name, not the tensor";
  EXPECT_TRUE(nlohmann::json::parse(FormatModelExplorer({}))["results"].empty());
}

// Six steps: three that are judged by a bound, one exact, two not tested.
CheckResult Honest() {
  CheckResult result;
  RunReport run;
  run.device = "X86";
  const double faults[] = {1e-6, 3e-3, 2e-5, 0, 0, 0};
  for (int i = 0; i < 6; ++i) {
    run.layers.push_back(StepOf(i, i < 4 ? Verdict::kAligned : Verdict::kNotTested, 0.1));
    run.layers.back().outputs[0].smallest_fault = faults[i];
    run.layers.back().reason = i < 4 ? "" : "ran on NAIVE";
  }
  run.coverage = {4, 6, 40, 60, 0, 0, 1, 1, ""};
  result.runs.push_back(run);
  Tensor values = Tensor::Create(DType::kF32, Shape({3})).value();
  const float of[] = {0.5f, -2, INFINITY};
  std::copy(of, of + 3, values.data<float>());
  result.checked.inputs = {"x f32 [3]: photo.npy", "x y f32 [3]: generated, uniform in [-1, 1)"};
  result.checked.input_ranges = ExtentsOf({{"x", Tensor::Zeros(DType::kF32, Shape({3})).value()}, {"x y", values}});
  return result;
}

TEST(ReportRestsOn, SaysWhatWasComparedOnWhatAndWhatWasNot) {
  const CheckResult result = Honest();
  const std::vector<std::string> expected = {
      "compared: 4 of 6 steps, 40 of 60 values, 1 of 1 outputs (doc/check.md, The rule (measured))",
      "on x f32 [3]: photo.npy; its values: 0 to 0",
      "on x y f32 [3]: generated, uniform in [-1, 1); its values: -2 to 0.5, 1 not finite",
      "not tested: 2 of 6 steps: 'layer4', 'layer5': ran on NAIVE",
      "smallest gain error that would have been seen: any in 1 exact step, 0.003 at 'layer1', 2e-05 at 'layer2', 1e-06 "
      "at 'layer0'"};
  EXPECT_EQ(RestsOn(result.checked, result.runs[0]), expected);
  RunReport all = result.runs[0];
  all.layers.resize(3);
  all.layers.push_back(StepOf(3, Verdict::kAligned, 0.1));
  all.layers[3].outputs[0].smallest_fault = 1;
  const std::vector<std::string> said = RestsOn({}, all);
  EXPECT_EQ(said[1], "not tested: nothing");
  EXPECT_EQ(said[2],
            "smallest gain error that would have been seen: 2e-05 in the middle of all, at worst 1 at 'layer3', "
            "0.003 at 'layer1', 2e-05 at 'layer2'");
  for (int i = 0; i < 4; ++i) all.layers[static_cast<size_t>(i)].reason = fmt::format("{} of 9 channels are 0", i);
  all.layers[3].step.name = std::string(100, 'a') + "end";
  const std::vector<std::string> in_part = RestsOn({}, all);
  EXPECT_EQ(in_part[2],
            "tested in part: 4 of 4 steps: 0 of 9 channels are 0; 1 of 9 channels are 0; 2 of 9 channels are 0; and 1 "
            "more");
  EXPECT_TRUE(Has(in_part[3], "aaaend', 0.003 at 'layer1'")) << in_part[3];
  EXPECT_LT(in_part[3].size(), 200u) << "names are cut";
  all.layers[0].outputs[0].rule = "a rule";  // all its integers were tested
  all.layers[0].outputs[0].reason = all.layers[0].reason;
  EXPECT_TRUE(Has(RestsOn({}, all)[2], "tested in part: 3 of 4 steps: 1 of 9")) << RestsOn({}, all)[2];
  EXPECT_EQ(RestsOn({}, {}).back(), "not tested: everything");
}

TEST(ReportRestsOn, EndsEveryReport) {
  const CheckResult result = Honest();
  ReportStyle wide;
  wide.width = 1000;
  const auto json = nlohmann::json::parse(FormatJson(result));
  const auto sarif = nlohmann::json::parse(FormatSarif(result));
  EXPECT_EQ(json["input_ranges"][1]["not_finite"], 1);
  EXPECT_EQ(json["runs"][0]["rests_on"], sarif["runs"][0]["properties"]["restsOn"]["X86"]);
  for (const std::string& sentence : RestsOn(result.checked, result.runs[0])) {
    EXPECT_TRUE(Has(FormatText(result.checked, result.runs[0], wide), "\n" + sentence + "\n")) << sentence;
    EXPECT_TRUE(Has(json["runs"][0]["rests_on"].dump(), nlohmann::json(sentence).dump())) << sentence;
    EXPECT_TRUE(Has(FormatJunit(result), sentence + "\n")) << sentence;
    EXPECT_TRUE(Has(FormatHtml(result), nlohmann::json(sentence).dump())) << sentence;
  }
  EXPECT_TRUE(Has(FormatMarkdown(result), "- not tested: 2 of 6 steps: 'layer4', 'layer5': ran on NAIVE\n"));
  const std::string csv = FormatCsv(result.runs);
  EXPECT_TRUE(Has(csv, ",smallest_fault\n") && Has(csv, ",0.003\n")) << csv;
}

TEST(ReportForCi, JsonHasTheWholeCommand) {
  CheckResult result = Wrong();
  EXPECT_EQ(nlohmann::json::parse(FormatJson(result))["reproduce"], "model_check -m net_a.onnx -d X86");
  result.runs[0].reproduce = "--subject dump";
  result.devices.clear();
  EXPECT_EQ(nlohmann::json::parse(FormatJson(result))["reproduce"], "model_check -m net_a.onnx --subject dump");
  result.checked.reproduce.clear();
  EXPECT_EQ(nlohmann::json::parse(FormatJson(result))["reproduce"], "");
}

}  // namespace
}  // namespace plumb
