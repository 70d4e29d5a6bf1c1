// SPDX-License-Identifier: Apache-2.0
// The verdict of a whole call: last line, exit code and JSON agree, and none is greener than what was compared.
#include <gtest/gtest.h>

#include <algorithm>

#include <nlohmann/json.hpp>

#include "check/core/coverage.h"
#include "check/report/util.h"

namespace plumb {
namespace {

LayerReport Step(const std::string& name, Verdict verdict, int64_t values = 10) {
  LayerReport layer;
  layer.step.name = name;
  layer.step.outputs.push_back({});
  layer.step.outputs.back().blob = name;
  layer.verdict = verdict;
  if (verdict == Verdict::kNotTested) return layer;
  OutputReport output;
  output.blob = name;
  output.verdict = verdict;
  output.shape = Shape({values});
  output.introduced.count = values;
  layer.outputs.push_back(output);
  return layer;
}

// Steps s0, s1 ... of which the last one computes the network output.
RunReport Judged(const std::string& device, const std::vector<Verdict>& verdicts, double min_tested = 0.5) {
  RunReport run;
  run.device = device;
  run.verdict = Verdict::kAligned;
  for (size_t i = 0; i < verdicts.size(); ++i) {
    run.layers.push_back(Step("s" + std::to_string(i), verdicts[i]));
    if (verdicts[i] == Verdict::kWrong && run.first_wrong < 0) run.first_wrong = static_cast<int>(i);
    if (verdicts[i] != Verdict::kNotTested) run.verdict = std::max(run.verdict, verdicts[i]);
  }
  ApplyCoverage({"s" + std::to_string(verdicts.size() - 1)}, min_tested, &run);
  return run;
}

constexpr Verdict A = Verdict::kAligned, G = Verdict::kGrey, W = Verdict::kWrong, N = Verdict::kNotTested;

TEST(Coverage, HalfOfTheStepsAndEveryOutput) {
  EXPECT_EQ(Judged("X86", {A, A, A}).verdict, A);
  EXPECT_EQ(Judged("X86", {N, N, A, A}).verdict, A) << "half is enough";
  EXPECT_EQ(Judged("X86", {N, N, N, A}).verdict, N);
  EXPECT_EQ(Judged("X86", {N, N, N, A}).why_not_tested, "1 of 4 steps were compared, fewer than 50 %");
  EXPECT_EQ(Judged("X86", {A, A, A, N}).verdict, N);
  EXPECT_EQ(Judged("X86", {A, A, A, N}).why_not_tested, "network output 's3' was not compared");
  EXPECT_EQ(Judged("X86", {G, N, N, N}).verdict, N) << "grey is no better than aligned";
  EXPECT_EQ(Judged("X86", {W, N, N, N}).verdict, W) << "what is wrong stays wrong";
  EXPECT_EQ(Judged("X86", {N, N}).why_not_tested, "nothing could be compared");
}

TEST(Coverage, MinTestedSaysOtherwise) {
  EXPECT_EQ(Judged("X86", {N, N, N, A}, 0.25).verdict, A);
  EXPECT_EQ(Judged("X86", {A, N, N, N}, 0.25).verdict, N) << "the output, too";
  EXPECT_EQ(Judged("X86", {A, N, N, N}, 0).verdict, A) << "0 asks for neither";
  EXPECT_EQ(Judged("X86", {N, A, A, A}, 1).verdict, N);
  EXPECT_EQ(Judged("X86", {N, N, N, N}, 0).verdict, N) << "nothing is never aligned";
}

// Values that are all the same on both sides prove little, and yet were compared.
TEST(Coverage, AConstantOutputWasCompared) {
  RunReport run = Judged("X86", {A, A, A});
  run.layers.back().verdict = run.layers.back().outputs[0].verdict = N;
  run.verdict = A;
  ApplyCoverage({"s2"}, 0.5, &run);
  EXPECT_EQ(run.verdict, A);
  EXPECT_EQ(CoverageText(run.coverage), "2 of 3 steps, 30 values, 1 of 1 outputs");
}

// A step that takes nine tenths of the work, or writes them, is no tenth of the run.
TEST(Coverage, AsksForTheShareOfValuesAndOfMultiplyAddsToo) {
  RunReport run = Judged("X86", {A, A, N, A});
  for (LayerReport& layer : run.layers) {
    layer.values = 10;
    layer.multiply_adds = 100;
  }
  run.layers[2].multiply_adds = 700;
  const auto conclude = [&run](double share) {
    run.verdict = A;
    ApplyCoverage({"s3"}, share, &run);
    return run.verdict;
  };
  EXPECT_EQ(conclude(0.5), N);
  EXPECT_EQ(run.why_not_tested, "30.0 % of the multiply-adds were compared, fewer than 50 %");
  EXPECT_EQ(CoverageText(run.coverage), "3 of 4 steps, 30 of 40 values, 30.0 % of the multiply-adds, 1 of 1 outputs");
  EXPECT_EQ(conclude(0.3), A);
  run.layers[2].multiply_adds = 100;
  run.layers[2].values = 90;
  EXPECT_EQ(conclude(0.5), N);
  EXPECT_EQ(run.why_not_tested, "30 of 120 values were compared, fewer than 50 %");
  EXPECT_EQ(conclude(0.25), A);
  EXPECT_EQ(conclude(0), A) << "0 asks for nothing";
  run.verdict = W;
  ApplyCoverage({"s3"}, 0.5, &run);
  EXPECT_EQ(run.verdict, W) << "what is wrong stays wrong";
}

TEST(Coverage, OutputsThatNoStepComputesDoNotCount) {
  RunReport run = Judged("X86", {A, A});
  ApplyCoverage({"s1", "an input handed through"}, 0.5, &run);
  EXPECT_EQ(run.coverage.all_outputs, 1);
  EXPECT_EQ(run.verdict, A);
}

AskedDevice Asked(const std::string& device, AskedDevice::State state, int exit_code, const std::string& error) {
  AskedDevice asked;
  asked.device = device;
  asked.state = state;
  asked.exit_code = exit_code;
  asked.error = error;
  return asked;
}

// The conclusion, after making sure that the JSON says the same.
Conclusion Concluded(const CheckResult& result) {
  const Conclusion conclusion = Conclude(result);
  const auto json = nlohmann::json::parse(FormatJson(result));
  EXPECT_EQ(json["verdict"], conclusion.verdict);
  EXPECT_EQ(json["exit_code"], conclusion.exit_code);
  EXPECT_EQ(json["summary"], conclusion.line);
  EXPECT_NE(conclusion.line.find("(exit " + std::to_string(conclusion.exit_code) + ")"), std::string::npos);
  const bool good = conclusion.verdict == "aligned" || conclusion.verdict == "grey";
  EXPECT_EQ(good, conclusion.exit_code == 0) << conclusion.line;
  return conclusion;
}

TEST(Outcome, AlignedDevicesAreNamedOnceWithWhatWasCompared) {
  CheckResult result;
  result.runs = {Judged("X86", {A, A}), Judged("OPENCL", {A, A})};
  result.checked.weights_generated = true;
  EXPECT_EQ(Concluded(result).line,
            "ALIGNED: X86, OPENCL aligned; 2 of 2 steps, 20 values, 1 of 1 outputs; weights generated (exit 0)");
}

TEST(Outcome, AWrongConversionFailsTheRun) {
  CheckResult result;
  result.runs = {Judged("golden", {A, W}), Judged("X86", {A, A})};
  result.runs[0].is_golden = true;
  EXPECT_EQ(Concluded(result).line,
            "FAILED: conversion wrong at 's1'; X86 aligned; 2 of 2 steps, 20 values, 1 of 1 outputs (exit 1)");
}

TEST(Outcome, ADifferingInputFailsTheRun) {
  CheckResult result;
  result.runs = {Judged("X86", {A})};
  InputMatch match;
  match.input = "data";
  match.a = "-i";
  match.b = "golden";
  match.equal = false;
  result.checked.input_matches = {match};
  EXPECT_EQ(Concluded(result).line,
            "FAILED: input 'data' differs (-i, golden); X86 aligned; 1 of 1 steps, 10 values, 1 of 1 outputs (exit 1)");
}

TEST(Outcome, NotTestedSaysWhy) {
  CheckResult result;
  result.runs = {Judged("subject", {A, N, N, N})};
  const Conclusion conclusion = Concluded(result);
  EXPECT_EQ(conclusion.exit_code, 1);
  EXPECT_EQ(conclusion.line.find(
                "NOT TESTED: subject not tested: 1 of 4 steps were compared, fewer than 50 %; network output 's3'"),
            0u)
      << conclusion.line;
}

TEST(Outcome, GreyIsSaidAndExitsZero) {
  CheckResult result;
  result.runs = {Judged("X86", {A, G, A}), Judged("OPENCL", {A, A, A})};
  const Conclusion conclusion = Concluded(result);
  EXPECT_EQ(conclusion.verdict, "grey");
  EXPECT_EQ(conclusion.line.find("GREY: X86 grey at 's1'; OPENCL aligned;"), 0u) << conclusion.line;
}

TEST(Outcome, ADeviceThatFailedIsAnErrorWhateverTheOthersSay) {
  CheckResult result;
  result.runs = {Judged("X86", {A})};
  result.devices = {Asked("X86", AskedDevice::State::kRan, 0, ""),
                    Asked("ARM", AskedDevice::State::kFailed, 3, "device ARM is not there")};
  EXPECT_EQ(Concluded(result).line.find("ERROR: ARM is not available; X86 aligned;"), 0u) << Conclude(result).line;
  EXPECT_EQ(Conclude(result).exit_code, 3);
  result.devices[1] =
      Asked("VULKAN", AskedDevice::State::kFailed, 2, "device VULKAN lacks a kernel for 1 layer:\n  layer 3");
  EXPECT_EQ(Concluded(result).line.find("ERROR: VULKAN failed: device VULKAN lacks a kernel for 1 layer; X86 aligned;"),
            0u)
      << Conclude(result).line;
  result.runs = {Judged("X86", {W})};
  EXPECT_EQ(Concluded(result).exit_code, 2);
  EXPECT_NE(Conclude(result).line.find("X86 wrong at 's0'"), std::string::npos);
}

TEST(Outcome, ASkippedDeviceFailsNothing) {
  CheckResult result;
  result.devices = {Asked("VULKAN", AskedDevice::State::kSkipped, 0, "no kernel for LSTM (layer 3 'lstm')")};
  EXPECT_EQ(Concluded(result).verdict, "not tested") << "nothing at all was compared";
  EXPECT_EQ(Conclude(result).exit_code, 1);
  result.runs = {Judged("X86", {A})};
  EXPECT_EQ(Concluded(result).line,
            "ALIGNED: X86 aligned; VULKAN skipped: no kernel for LSTM (layer 3 'lstm'); 1 of 1 steps, 10 values, 1 of "
            "1 outputs (exit 0)");
}

TEST(Outcome, LoadingErrorsAndFileComparisons) {
  CheckResult result;
  result.errors = {{"cannot read 'x.onnx': no such file", 2}};
  EXPECT_EQ(Concluded(result).line, "ERROR: cannot read 'x.onnx': no such file (exit 2)");
  result.errors.clear();
  result.comparisons = {{"X86 outputs against ref.npy", Verdict::kWrong}};
  EXPECT_EQ(Concluded(result).line, "FAILED: X86 outputs against ref.npy wrong (exit 1)");
  result.comparisons = {{"X86 outputs against ref.npy", Verdict::kAligned}};
  EXPECT_EQ(Concluded(result).line, "ALIGNED: X86 outputs against ref.npy aligned (exit 0)");
}

TEST(Outcome, TheLastLineIsColouredOnlyWhenAskedFor) {
  CheckResult result;
  result.runs = {Judged("X86", {W})};
  const Conclusion conclusion = Conclude(result);
  EXPECT_EQ(FormatLastLine(conclusion, false), conclusion.line);
  EXPECT_EQ(FormatLastLine(conclusion, true).find("\033[1;31mFAILED\033[0m: "), 0u);
}

Tensor F32(std::vector<float> values) {
  Tensor tensor = Tensor::Create(DType::kF32, Shape({static_cast<int64_t>(values.size())})).value();
  std::copy(values.begin(), values.end(), tensor.data<float>());
  return tensor;
}

TEST(Report, AWrongStepIsSaidWithWhatItDoesToTheOutputs) {
  RunReport run = Judged("X86", {A, W});
  OutputSummary output;
  output.name = "s1";
  output.device = F32({1, 2.0002f});
  output.reference = F32({1, 2});
  run.outputs = {output};
  EXPECT_NE(FormatSummary({}, run).find("; outputs agree to 1.0e-04; "), std::string::npos) << FormatSummary({}, run);
  run.outputs[0].device = F32({1, NAN});
  EXPECT_NE(FormatSummary({}, run).find("; output 's1' has NaN or infinities on one side only; "), std::string::npos)
      << FormatSummary({}, run);
}

bool Has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

size_t Longest(const std::string& text) {
  size_t longest = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    longest = std::max(longest, end - begin);
    begin = end + 1;
  }
  return longest;
}

RunReport LongRun() {
  std::vector<Verdict> verdicts(30, A);
  verdicts[7] = W;
  RunReport run = Judged("X86", verdicts);
  for (size_t i = 0; i < run.layers.size(); ++i) {
    LayerReport& layer = run.layers[i];
    layer.step.index = static_cast<int>(i);
    layer.step.kernel = "x86/a_kernel_with_a_name";
    layer.step.members.push_back({layer.step.index, layer.step.name, "ConvolutionWithALongType", {}, ""});
    layer.outputs[0].excess = i == 20 ? 0.9 : 0.01 * static_cast<double>(i % 5);
  }
  for (int i = 0; i < 30; ++i) run.layers[7].reason += "reason" + std::to_string(i) + " ";
  return run;
}

TEST(Report, FitsItsWidthAndCutsNoReason) {
  const RunReport run = LongRun();
  CheckedModel checked;
  checked.model = "model.onnx";
  for (const size_t width : {80, 100, 120}) {
    ReportStyle style;
    style.width = width;
    const std::string text = FormatText(checked, run, style);
    EXPECT_LE(Longest(text), width) << text;
    for (int i = 0; i < 30; ++i) EXPECT_TRUE(Has(text, "reason" + std::to_string(i))) << text;
    EXPECT_EQ(Has(text, "  kernel  "), width >= 120) << width << " is too little for kernels\n" << text;
    EXPECT_NE(text.find("legend"), std::string::npos);
  }
}

TEST(Report, ShowsWhatIsNotAlignedAndTheWorstFive) {
  const RunReport run = LongRun();
  ReportStyle style;
  const std::string text = FormatText({}, run, style);
  EXPECT_NE(text.find("\n00007  "), std::string::npos) << text;
  EXPECT_NE(text.find("\n00020  "), std::string::npos) << text;
  EXPECT_EQ(text.find("\n00000  "), std::string::npos) << text;
  EXPECT_NE(text.find("24 more aligned (ReportStyle::all shows every step)"), std::string::npos) << text;
  style.all = true;
  const std::string all = FormatText({}, run, style);
  EXPECT_NE(all.find("\n00000  "), std::string::npos) << all;
  EXPECT_EQ(all.find("ReportStyle::all"), std::string::npos) << all;
}

TEST(Report, FewValuesArePrinted) {
  RunReport run = Judged("X86", {A});
  OutputSummary output;
  output.name = "s0";
  output.device = output.reference = F32({0.25f, -3});
  run.outputs = {output};
  EXPECT_NE(FormatText({}, run, {}).find("X86         0.25  -3\n"), std::string::npos) << FormatText({}, run, {});
}

}  // namespace
}  // namespace plumb
