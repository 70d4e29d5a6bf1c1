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

TEST_F(BaselineTest, AKnownDeviationIsGreyUntilItExpires) {
  const auto now = [] { return RunOf({{Verdict::kAligned, 0.5}, {Verdict::kWrong, 9}}); };
  Baseline baseline;
  baseline.Update("net", {now()}, {"the driver flushes subnormals", "2027-03-31"});
  ASSERT_TRUE(baseline.Write(At("baseline.json")).ok());
  baseline = Baseline::Read(At("baseline.json")).value();
  RunReport run = now();
  run.verdict = Verdict::kWrong;
  run.first_wrong = 1;
  run.coverage.steps = run.coverage.all_steps = 2;
  RunReport hardly = run;
  hardly.coverage.all_steps = 5;
  RunReport late = run, worse = RunOf({{Verdict::kAligned, 0.5}, {Verdict::kWrong, 90}});
  worse.verdict = Verdict::kWrong;
  const auto said = baseline.Accept("net", "2027-03-31", 0.5, &run);
  ASSERT_EQ(said.size(), 1u);
  EXPECT_EQ(said[0], "X86, layer 00001 layer1: known to be wrong (to 2027-03-31): the driver flushes subnormals");
  EXPECT_EQ(run.verdict, Verdict::kGrey);
  EXPECT_EQ(run.first_wrong, -1);
  EXPECT_TRUE(baseline.Compare("net", {run}).empty());
  EXPECT_EQ(baseline.Accept("net", "2027-03-31", 0.5, &hardly).size(), 1u);
  EXPECT_EQ(hardly.verdict, Verdict::kNotTested);
  EXPECT_EQ(hardly.why_not_tested, "2 of 5 steps were compared, fewer than 50 %");
  const auto expired = baseline.Accept("net", "2027-04-01", 0.5, &late);
  ASSERT_EQ(expired.size(), 1u);
  EXPECT_TRUE(Has(expired[0], "has expired (until 2027-03-31)")) << expired[0];
  EXPECT_EQ(late.verdict, Verdict::kWrong);
  EXPECT_TRUE(baseline.Accept("net", "2027-01-01", 0.5, &worse).empty());
  EXPECT_EQ(worse.verdict, Verdict::kWrong);
  EXPECT_TRUE(baseline.Accept("other", "2027-01-01", 0.5, &late).empty());
  // A later update keeps the reason; what heals is said, and loses it.
  baseline.Update("net", {now()});
  EXPECT_TRUE(Has(baseline.Text(), "flushes subnormals"));
  const RunReport right = RunOf({{Verdict::kAligned, 0.5}, {Verdict::kAligned, 0.25}});
  const auto healed = baseline.Healed("net", {right});
  ASSERT_EQ(healed.size(), 1u);
  EXPECT_EQ(healed[0],
            "X86, layer 00001 layer1: it was wrong (E 9, known: the driver flushes subnormals), and is aligned (E "
            "0.25); update the baseline");
  EXPECT_TRUE(baseline.Healed("net", {now()}).empty());
  baseline.Update("net", {right});
  EXPECT_FALSE(Has(baseline.Text(), "flushes subnormals"));
  EXPECT_FALSE(Baseline::Parse(R"({"format": "plumb-baseline", "version": 1, "checks": {"n": {"X86": {"0 a":
      {"verdict": "wrong", "E": 1, "R": 1, "reason": "r", "until": "soon"}}}}})",
                               "b.json")
                   .ok());
  EXPECT_TRUE(Baseline::IsDay(Baseline::Today()));
  EXPECT_FALSE(Baseline::IsDay("2027-13-01"));
  EXPECT_FALSE(Baseline::IsDay("2027-02-31"));
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
