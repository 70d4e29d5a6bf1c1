// SPDX-License-Identifier: Apache-2.0
// The verdict of a whole call: its last line, its exit code and the JSON's verdict come out of one function.
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "check/core/coverage.h"
#include "check/report/util.h"
#include "format/open_dims.h"
#include "plumb/tool/exit_code.h"
#include "plumb/tool/printing.h"

namespace plumb {
namespace {

std::string FirstLine(const std::string& text) {
  std::string line = text.substr(0, text.find('\n'));
  while (!line.empty() && (line.back() == ':' || line.back() == ' ')) line.pop_back();
  return line;
}

std::string NameOf(const RunReport& run) { return run.is_golden ? "conversion" : run.device; }

// The step that a sentence names: the first with this verdict.
std::string At(const RunReport& run, Verdict verdict) {
  for (const LayerReport& layer : run.layers) {
    if (layer.verdict == verdict) return fmt::format(" at '{}'", layer.step.name);
  }
  return "";
}

std::string RunText(const RunReport& run) {
  const std::string name = NameOf(run);
  switch (run.verdict) {
    case Verdict::kWrong: return fmt::format("{} wrong{}", name, At(run, Verdict::kWrong));
    case Verdict::kGrey: return fmt::format("{} grey{}{}", name, At(run, Verdict::kGrey), AsText(run.computed_as));
    case Verdict::kNotTested: return fmt::format("{} not tested: {}", name, run.why_not_tested);
    case Verdict::kAligned: return name + " aligned";
  }
  return name;
}

std::string DeviceText(const AskedDevice& device) {
  if (device.exit_code == kExitNoDevice) return device.device + " is not available";
  return fmt::format("{} failed: {}", device.device, FirstLine(device.error));
}

// "OPENCL, VULKAN skipped: no kernel for ...": those with the same reason together.
void AddSkipped(const CheckResult& result, std::vector<std::string>* parts) {
  std::vector<std::pair<std::string, std::string>> reasons;  // reason, devices
  for (const AskedDevice& device : result.devices) {
    if (device.state != AskedDevice::State::kSkipped) continue;
    const std::string reason = FirstLine(device.error);
    auto it = std::find_if(reasons.begin(), reasons.end(), [&](const auto& entry) { return entry.first == reason; });
    if (it == reasons.end()) it = reasons.insert(reasons.end(), {reason, ""});
    it->second += (it->second.empty() ? "" : ", ") + device.device;
  }
  for (const auto& [reason, devices] : reasons) parts->push_back(fmt::format("{} skipped: {}", devices, reason));
}

// "X86 ran HIGH in place of LOW": a device that has not the precision asked for.
void AddPrecisions(const CheckResult& result, std::vector<std::string>* parts) {
  std::string asked = result.checked.precision;
  std::transform(asked.begin(), asked.end(), asked.begin(), ::toupper);
  if (asked == "AUTO") return;
  std::map<std::string, std::string> by_precision;
  for (const RunReport& run : result.runs) {
    if (run.precision.empty() || run.precision == asked) continue;
    std::string& names = by_precision[run.precision];
    names += (names.empty() ? "" : ", ") + NameOf(run);
  }
  for (const auto& [ran, names] : by_precision)
    parts->push_back(fmt::format("{} ran {} in place of {}", names, ran, asked));
}

// "X86, OPENCL aligned": runs that say the same are said once.
void AddAligned(const CheckResult& result, std::vector<std::string>* parts) {
  std::string names;
  for (const RunReport& run : result.runs) {
    if (run.verdict != Verdict::kAligned) continue;
    if (run.computed_as.empty()) names += (names.empty() ? "" : ", ") + NameOf(run);
    if (!run.computed_as.empty()) parts->push_back(NameOf(run) + " aligned" + AsText(run.computed_as));
  }
  if (!names.empty()) parts->push_back(names + " aligned");
}

void AddRuns(const CheckResult& result, Verdict verdict, std::vector<std::string>* parts) {
  for (const RunReport& run : result.runs) {
    if (run.verdict == verdict) parts->push_back(RunText(run));
  }
  for (const FileComparison& comparison : result.comparisons) {
    if (comparison.verdict != verdict) continue;
    const size_t worse = comparison.worse.size();
    const std::string layers = worse == 0   ? ""
                               : worse == 1 ? ": " + comparison.worse[0]
                                            : fmt::format(": {} and {} more", comparison.worse[0], worse - 1);
    parts->push_back(fmt::format("{} {}{}", comparison.what, VerdictName(verdict), layers));
  }
}

std::string UnexpectedText(const RunReport& run, const std::string& expect) {
  const std::string what = expect == "model" ? "what the model and the dump say" : expect;
  return fmt::format("{} is computed{}, expected {}", NameOf(run), AsText(Unexpected(expect, run)), what);
}

// Once where all say the same, else by name. A run that was not tested has said it.
void AddCoverage(const CheckResult& result, std::vector<std::string>* parts) {
  std::vector<std::string> texts;
  bool same = true;
  for (const RunReport& run : result.runs) {
    texts.push_back(CoverageText(run.coverage));
    same = same && texts.back() == texts.front();
  }
  if (texts.empty()) return;
  if (same) return parts->push_back(texts.front());
  for (size_t i = 0; i < texts.size(); ++i) parts->push_back(fmt::format("{} {}", NameOf(result.runs[i]), texts[i]));
}

int ExitOf(Verdict verdict) {
  return verdict == Verdict::kWrong || verdict == Verdict::kNotTested ? kExitMisaligned : kExitOk;
}

struct Found {
  int exit_code = kExitOk;
  bool wrong = false, grey = false, anything = false;

  void Add(Verdict verdict) {
    exit_code = WorseExit(exit_code, ExitOf(verdict));
    wrong = wrong || verdict == Verdict::kWrong;
    grey = grey || verdict == Verdict::kGrey;
    anything = true;
  }
};

Found Collect(const CheckResult& result) {
  Found found;
  for (const InputMatch& match : result.checked.input_matches) {
    if (!match.equal) found.Add(Verdict::kWrong);
  }
  for (const RunReport& run : result.runs) {
    found.Add(run.verdict);
    if (!Unexpected(result.checked.expect, run).empty()) found.Add(Verdict::kWrong);
  }
  for (const FileComparison& comparison : result.comparisons) found.Add(comparison.verdict);
  for (const AskedDevice& device : result.devices) {
    if (device.state == AskedDevice::State::kFailed) found.exit_code = WorseExit(found.exit_code, device.exit_code);
  }
  for (const CheckError& error : result.errors) found.exit_code = WorseExit(found.exit_code, error.exit_code);
  if (!found.anything && found.exit_code == kExitOk) found.Add(Verdict::kNotTested);
  return found;
}

std::string VerdictOf(const Found& found) {
  if (found.exit_code == kExitMisaligned) return VerdictName(found.wrong ? Verdict::kWrong : Verdict::kNotTested);
  if (found.exit_code != kExitOk) return "error";
  return VerdictName(found.grey ? Verdict::kGrey : Verdict::kAligned);
}

std::string WordOf(const std::string& verdict) {
  if (verdict == "wrong") return "FAILED";
  std::string word = verdict;
  std::transform(word.begin(), word.end(), word.begin(), ::toupper);
  return word;
}

}  // namespace

std::string ChosenOptions(const CheckedModel& checked) {
  const std::string begin = kChosenShapesNote;
  for (const std::string& note : checked.notes) {
    if (note.rfind(begin, 0) == 0) return note.substr(begin.size());
  }
  return "";
}

std::string ChosenShapes(const CheckedModel& checked) {
  std::istringstream words(ChosenOptions(checked));
  std::string text;
  bool quoted = false;
  for (std::string word; std::getline(words, word, ' ');) {
    const auto quotes = std::count(word.begin(), word.end(), '\'');
    // A word without both names the field or option that takes the next.
    if (quoted || quotes > 0 || word.find('=') != std::string::npos) text += (text.empty() ? "" : " ") + word;
    quoted = quoted != (quotes % 2 == 1);
  }
  return text;
}

Conclusion Conclude(const CheckResult& result) {
  const Found found = Collect(result);
  Conclusion conclusion;
  conclusion.verdict = VerdictOf(found);
  conclusion.exit_code = found.exit_code;
  std::vector<std::string> parts;
  for (const CheckError& error : result.errors) parts.push_back(FirstLine(error.message));
  for (const AskedDevice& device : result.devices) {
    if (device.state == AskedDevice::State::kFailed) parts.push_back(DeviceText(device));
  }
  for (const InputMatch& match : result.checked.input_matches) {
    if (!match.equal) parts.push_back(fmt::format("input '{}' differs ({}, {})", match.input, match.a, match.b));
  }
  AddRuns(result, Verdict::kWrong, &parts);
  for (const RunReport& run : result.runs) {
    if (!Unexpected(result.checked.expect, run).empty()) parts.push_back(UnexpectedText(run, result.checked.expect));
  }
  AddRuns(result, Verdict::kNotTested, &parts);
  AddRuns(result, Verdict::kGrey, &parts);
  AddAligned(result, &parts);
  for (const FileComparison& comparison : result.comparisons) {
    if (comparison.verdict == Verdict::kAligned) parts.push_back(comparison.what + " aligned");
  }
  AddPrecisions(result, &parts);
  AddSkipped(result, &parts);
  if (parts.empty()) parts.emplace_back("nothing was compared");
  AddCoverage(result, &parts);
  const auto partial = [](const RunReport& run) { return run.only_named_layers; };
  if (std::any_of(result.runs.begin(), result.runs.end(), partial))
    parts.emplace_back("only the layers named were judged");
  const std::string shapes = ChosenShapes(result.checked);
  if (!shapes.empty()) parts.push_back("shapes chosen: " + shapes);
  if (result.checked.weights_generated) parts.emplace_back("weights generated");
  conclusion.line = WordOf(conclusion.verdict) + ": ";
  for (size_t i = 0; i < parts.size(); ++i) conclusion.line += (i == 0 ? "" : "; ") + parts[i];
  conclusion.line += fmt::format(" (exit {})", conclusion.exit_code);
  return conclusion;
}

std::string FormatLastLine(const Conclusion& conclusion, bool color) {
  const std::string line = PrintableLine(conclusion.line);
  if (!color) return line;
  const char* paint = conclusion.verdict == "aligned"      ? "\033[1;32m"
                      : conclusion.verdict == "grey"       ? "\033[1;33m"
                      : conclusion.verdict == "not tested" ? "\033[1;36m"
                                                           : "\033[1;31m";
  const size_t colon = line.find(':');
  return fmt::format("{}{}\033[0m{}", paint, line.substr(0, colon), line.substr(colon));
}

}  // namespace plumb
