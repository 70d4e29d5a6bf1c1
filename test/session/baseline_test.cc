// SPDX-License-Identifier: Apache-2.0
// A baseline notices what got worse, and only that.
#include "plumb/tool/baseline.h"

#include <cmath>

#include "session/session_test_util.h"

namespace plumb {
namespace {

RunReport RunOf(std::vector<std::pair<Verdict, double>> layers) {
  RunReport run;
  run.device = "X86";
  for (size_t i = 0; i < layers.size(); ++i) {
    LayerReport layer;
    layer.step.index = static_cast<int>(i);
    layer.step.name = "layer" + std::to_string(i);
    layer.verdict = layers[i].first;
    layer.outputs.resize(1);
    layer.outputs[0].excess = layers[i].second;
    layer.outputs[0].rms_excess = layers[i].second / 2;
    run.layers.push_back(layer);
  }
  return run;
}

using BaselineTest = ScratchFolder;

TEST_F(BaselineTest, WhatGotWorseIsSaidAndWhatGotBetterIsNot) {
  constexpr Verdict kAligned = Verdict::kAligned, kGrey = Verdict::kGrey, kWrong = Verdict::kWrong;
  Baseline baseline;
  baseline.Update("net", {RunOf({{kAligned, 0.5}, {kGrey, 2}, {kWrong, 9}, {kAligned, 0.1}})});
  const auto compare = [&](const RunReport& run) { return baseline.Compare("net", {run}); };
  EXPECT_TRUE(compare(RunOf({{kAligned, 0.5}, {kGrey, 2}, {kWrong, 9}, {kAligned, 0.1}})).empty());
  EXPECT_TRUE(compare(RunOf({{kAligned, 0.6}, {kAligned, 0}, {kGrey, 3}, {kAligned, 0.2}})).empty());
  const auto worse = compare(RunOf({{kAligned, 0.9}, {kWrong, 20}, {Verdict::kNotTested, 0}}));
  ASSERT_EQ(worse.size(), 3u);
  EXPECT_EQ(worse[0], "X86, layer 00000 layer0: E 0.5 -> 0.9, R 0.25 -> 0.45");
  EXPECT_EQ(worse[1], "X86, layer 00001 layer1: it was grey, and is wrong (E 2 -> 20)");
  EXPECT_EQ(worse[2], "X86, layer 00003 layer3: it was aligned, and is not there any more");
  EXPECT_EQ(compare(RunOf({{Verdict::kNotTested, 0}, {kGrey, 2}, {kWrong, 9}, {kAligned, 0}})).size(), 1u);
  const auto unknown = baseline.Compare("other", {RunOf({{kAligned, 0}})});
  ASSERT_EQ(unknown.size(), 1u);
  EXPECT_TRUE(Has(unknown[0], "'other'")) << unknown[0];
}

TEST_F(BaselineTest, ALayerThatIsNotKnownIsSaid) {
  Baseline baseline;
  baseline.Update("net", {RunOf({{Verdict::kAligned, 0.5}})});
  const auto worse = baseline.Compare("net", {RunOf({{Verdict::kAligned, 0.5}, {Verdict::kGrey, 2}})});
  ASSERT_EQ(worse.size(), 1u);
  EXPECT_EQ(worse[0], "X86, layer 00001 layer1: the baseline does not know it; update it");
}

TEST_F(BaselineTest, LayersThatWereNamedAreComparedAlone) {
  const RunReport whole = RunOf({{Verdict::kAligned, 0.5}, {Verdict::kGrey, 2}});
  RunReport second = RunOf({{Verdict::kAligned, 0}, {Verdict::kWrong, 9}});
  second.layers.erase(second.layers.begin());
  second.only_named_layers = true;
  Baseline baseline;
  baseline.Update("net", {whole});
  const auto worse = baseline.Compare("net", {second});
  ASSERT_EQ(worse.size(), 1u);
  EXPECT_TRUE(Has(worse[0], "layer1: it was grey, and is wrong")) << worse[0];
  baseline.Update("net", {second});
  EXPECT_TRUE(baseline.Compare("net", {second}).empty());
  EXPECT_EQ(baseline.Compare("net", {whole}).size(), 0u) << "layer0 is still known, layer1 got better";
}

TEST_F(BaselineTest, AFileIsReadBackAndABrokenOneNamed) {
  Baseline baseline;
  const RunReport run = RunOf({{Verdict::kAligned, 0.25}, {Verdict::kWrong, INFINITY}});
  baseline.Update("a \"key\"", {run});
  baseline.Update("other", {RunOf({{Verdict::kGrey, 1.5}})});
  ASSERT_TRUE(baseline.Write(At("baseline.json")).ok());
  const auto again = Baseline::Read(At("baseline.json"));
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_TRUE(again->Compare("a \"key\"", {run}).empty());
  EXPECT_EQ(again->Compare("other", {RunOf({{Verdict::kGrey, 9}})}).size(), 1u);
  EXPECT_EQ(Baseline::Read(At("none.json")).status().code(), StatusCode::kNotFound);
  const std::string head = R"({"format": "plumb-baseline", "version": )";
  for (const std::string& text :
       {std::string("{"), std::string("[]"), head + "2, \"checks\": {}}", head + "1, \"checks\": {\"k\": 3}}",
        head + R"(1, "checks": {"k": {"X86": {"l": {"verdict": "fine", "E": 1, "R": 1}}}}})",
        head + R"(1, "checks": {"k": {"X86": {"l": {"verdict": "grey", "E": 1}}}}})",
        head + "1, \"checks\": " + std::string(200000, '[') + std::string(200000, ']') + "}"}) {
    const auto broken = Baseline::Read(WriteText("broken.json", text));
    EXPECT_EQ(broken.status().code(), StatusCode::kCorruptModel) << text;
    EXPECT_TRUE(Has(broken.status().message(), "broken.json")) << broken.status().message();
  }
}

}  // namespace
}  // namespace plumb
