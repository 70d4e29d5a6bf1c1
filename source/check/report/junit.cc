// SPDX-License-Identifier: Apache-2.0
// The report for continuous integration: JUnit's XML, a test case per step and device.
#include <fmt/core.h>

#include "base/text.h"
#include "check/report/util.h"
#include "plumb/tool/printing.h"

namespace plumb {
namespace {

// XML has no control characters, not even as entities, and only UTF-8.
std::string Xml(const std::string& text) {
  std::string xml;
  for (const char c : PrintableMessage(text)) {
    switch (c) {
      case '&': xml += "&amp;"; break;
      case '<': xml += "&lt;"; break;
      case '>': xml += "&gt;"; break;
      case '"': xml += "&quot;"; break;
      default: xml += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return xml;
}

// One <testsuite> under construction.
class Suite {
 public:
  explicit Suite(std::string name) : name_(std::move(name)) {}

  // `kind`: "failure", "error", "skipped", or "" for a case that passed.
  void Add(const std::string& test, double seconds, const std::string& kind, const std::string& message) {
    ++tests_;
    failures_ += kind == "failure" ? 1 : 0;
    errors_ += kind == "error" ? 1 : 0;
    skipped_ += kind == "skipped" ? 1 : 0;
    cases_ +=
        fmt::format("  <testcase classname=\"{}\" name=\"{}\" time=\"{}\"", Xml(name_), Xml(test), Number(seconds, 6));
    cases_ += kind.empty() ? "/>\n" : fmt::format(">\n   <{} message=\"{}\"/>\n  </testcase>\n", kind, Xml(message));
  }

  // What stands behind the cases, line by line.
  void Say(const std::vector<std::string>& sentences) {
    for (const std::string& sentence : sentences) said_ += Xml(sentence) + "\n";
  }

  std::string Text() const {
    const std::string said = said_.empty() ? "" : fmt::format("  <system-out>{}</system-out>\n", said_);
    return fmt::format(
        " <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\">\n{}{} </testsuite>\n",
        Xml(name_), tests_, failures_, errors_, skipped_, cases_, said);
  }

 private:
  std::string name_, cases_, said_;
  int tests_ = 0, failures_ = 0, errors_ = 0, skipped_ = 0;
};

std::string Why(const LayerReport& layer) {
  std::string text = layer.reason;
  const OutputReport* worst = layer.Worst();
  if (worst != nullptr && layer.verdict == Verdict::kWrong) {
    text = fmt::format("E {}, R {}, introduced {}{}{}", Number(worst->excess, 3), Number(worst->rms_excess, 3),
                       Number(worst->introduced.max_abs, 3), text.empty() ? "" : "; ", text);
  }
  return text + (text.empty() || layer.cause.empty() ? "" : "; ") + layer.cause;
}

std::string OfRun(const CheckedModel& checked, const RunReport& run) {
  Suite suite(run.device);
  for (const LayerReport& layer : run.layers) {
    const std::string kind = layer.verdict == Verdict::kWrong       ? "failure"
                             : layer.verdict == Verdict::kNotTested ? "skipped"
                                                                    : "";
    suite.Add(fmt::format("{} {} ({})", layer.step.index, layer.step.name, TypesOf(layer.step)), layer.device_seconds,
              kind, Why(layer));
  }
  const bool right = run.verdict == Verdict::kAligned || run.verdict == Verdict::kGrey;
  suite.Add("verdict", 0, right ? "" : "failure", FormatSummary(checked, run));
  const std::vector<ComputedAs> unexpected = Unexpected(checked.expect, run);
  if (!run.computed_as.empty()) {
    suite.Add("precision", 0, unexpected.empty() ? "" : "failure",
              fmt::format("computed{}, expected {}", AsText(unexpected), checked.expect));
  }
  suite.Say(RestsOn(checked, run));
  return suite.Text();
}

}  // namespace

std::string FormatJunit(const CheckResult& result) {
  std::string suites;
  for (const RunReport& run : result.runs) suites += OfRun(result.checked, run);
  Suite whole("model_check");
  for (const AskedDevice& device : result.devices) {
    if (device.state == AskedDevice::State::kSkipped) whole.Add(device.device, 0, "skipped", device.error);
    if (device.state == AskedDevice::State::kFailed) whole.Add(device.device, 0, "error", device.error);
  }
  for (const FileComparison& comparison : result.comparisons) {
    for (const std::string& layer : comparison.worse)
      whole.Add("baseline: " + layer.substr(0, layer.find(": ")), 0, "failure", layer);
    whole.Add(comparison.what, 0, comparison.verdict == Verdict::kAligned ? "" : "failure",
              VerdictName(comparison.verdict));
  }
  for (const CheckError& error : result.errors) whole.Add("run", 0, "error", error.message);
  const Conclusion conclusion = Conclude(result);
  whole.Add("conclusion", 0, conclusion.exit_code == 0 ? "" : "failure", conclusion.line);
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"model_check\">\n{}{}</testsuites>\n", suites,
      whole.Text());
}

}  // namespace plumb
