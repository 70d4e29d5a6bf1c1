// SPDX-License-Identifier: Apache-2.0
// The sentences of a report: what a run found, and how it is done again.
#include <fmt/core.h>

#include <cmath>
#include <cstdio>

#include "check/report/util.h"

namespace plumb {
namespace {

std::string CountsText(const RunReport& run, const std::string& layers) {
  return fmt::format(
      "{} aligned, {} grey, {} wrong, {} not tested of {} steps{}{}; {} values, {} of {} outputs compared",
      run.Count(Verdict::kAligned), run.Count(Verdict::kGrey), run.Count(Verdict::kWrong),
      run.Count(Verdict::kNotTested), run.layers.size(), layers, run.only_named_layers ? ", only those named" : "",
      run.coverage.values, run.coverage.outputs, run.coverage.all_outputs);
}

// ", 96 % of it by 'conv3'"
std::string LargestShareText(const RunReport& run, const std::string& name) {
  for (const OutputSummary& output : run.outputs) {
    if (output.name != name || output.effect.layers.empty()) continue;
    const LayerEffect& largest = output.effect.layers[0];
    return fmt::format(", {:.0f} % of it by '{}'", 100 * largest.share, largest.step.name);
  }
  return "";
}

// "outputs agree to 1.2e-07": what a wrong layer did to them.
std::string AgreementText(const RunReport& run) {
  const auto worst = WorstAgreement(run);
  if (!worst) return "";
  if (worst->relative == 0) return "; the outputs are equal";
  if (!std::isfinite(worst->relative))
    return fmt::format("; output '{}' has NaN or infinities on one side only", worst->output);
  const std::string which = run.outputs.size() > 1 ? fmt::format(" ('{}' the least)", worst->output) : "";
  char text[64];
  std::snprintf(text, sizeof(text), "; outputs agree to %.1e", worst->relative);
  return text + which + LargestShareText(run, worst->output);
}

// "layer 3 'conv' (Convolution"; what was computed from constants before the network runs has no index.
std::string WhichLayer(const StepInfo& step) {
  const std::string which = step.index < 0 ? "the constant of node '" : fmt::format("layer {} '", step.index);
  return fmt::format("{}{}' ({}", which, step.name, TypesOf(step));
}

std::string ConversionSummary(const RunReport& golden) {
  const std::string all = CountsText(golden, "");
  if (golden.first_wrong >= 0) {
    const LayerReport& guilty = golden.layers[static_cast<size_t>(golden.first_wrong)];
    return fmt::format(
        "conversion: WRONG: {}) is the first that the golden computed otherwise than the model here says: {}{}; {}",
        WhichLayer(guilty.step), guilty.reason, AgreementText(golden), all);
  }
  if (golden.verdict == Verdict::kNotTested)
    return fmt::format("conversion: NOT TESTED: {}; {}", golden.why_not_tested, all);
  return "conversion: the golden computed every layer that was compared as the model here says; " + all;
}

}  // namespace

std::string VerdictSentence(const CheckedModel& checked, const RunReport& run) {
  if (run.is_golden) return ConversionSummary(run);
  const std::string who = run.judged_as.empty() ? run.device : fmt::format("{} ({})", run.device, run.judged_as);
  const std::string counts = CountsText(run, fmt::format(" ({} layers)", checked.num_layers));
  if (run.first_wrong >= 0) {
    const LayerReport& guilty = run.layers[static_cast<size_t>(run.first_wrong)];
    return fmt::format("{}: WRONG: {}, {}) is the first guilty one: {}{}; {}", who, WhichLayer(guilty.step),
                       guilty.step.kernel, guilty.reason, AgreementText(run), counts);
  }
  if (run.verdict == Verdict::kNotTested) return fmt::format("{}: NOT TESTED: {}; {}", who, run.why_not_tested, counts);
  return fmt::format(
      "{}: {}{}: {}", who,
      run.Count(Verdict::kNotTested) == 0 && run.verdict == Verdict::kAligned ? "all aligned" : "no layer is wrong",
      AsText(run.computed_as), counts);
}

std::string ReproduceCommand(const CheckedModel& checked, const RunReport& run) {
  if (run.first_wrong < 0 || run.is_golden) return "";
  return fmt::format("{} {}", checked.reproduce, run.reproduce.empty() ? "-d " + run.device : run.reproduce);
}

std::string WholeCommand(const CheckResult& result) {
  if (result.checked.reproduce.empty()) return "";
  std::string devices, subject;
  for (const AskedDevice& asked : result.devices) devices += (devices.empty() ? " -d " : ",") + asked.device;
  for (const RunReport& run : result.runs) {
    if (!run.reproduce.empty() && !run.is_golden) subject = " " + run.reproduce;
  }
  return result.checked.reproduce + subject + devices;
}

std::string FormatInputs(const CheckedModel& checked) {
  for (const InputMatch& match : checked.input_matches) {
    if (match.equal) continue;
    char text[64];
    std::snprintf(text, sizeof(text), "max %.6g", match.difference.max_abs);
    return fmt::format(
        "input differs: {} in '{}', {} against {}{}; the layers are judged on the inputs that each side had", text,
        match.input, match.a, match.b, match.explanation.empty() ? "" : ", explained by: " + match.explanation);
  }
  return "";
}

std::string FormatSummary(const CheckedModel& checked, const RunReport& run) {
  const std::string reproduce = ReproduceCommand(checked, run);
  return VerdictSentence(checked, run) + (reproduce.empty() ? "" : ". Reproduce: " + reproduce);
}

}  // namespace plumb
