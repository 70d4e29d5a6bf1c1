// SPDX-License-Identifier: Apache-2.0
// The report for code review tools: SARIF 2.1.0, a result per step that is wrong, grey or not tested, and one per
// error.
#include <fmt/core.h>

#include <cctype>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "check/report/util.h"
#include "plumb/tool/printing.h"

namespace plumb {
namespace {

using Sarif = nlohmann::ordered_json;

// A path as a relative or absolute URI reference.
std::string UriOf(const std::string& path) {
  std::string uri;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (byte < 0x80 && std::isalnum(byte) != 0) || std::string("/-._~").find(c) != std::string::npos;
    uri += plain ? std::string(1, c) : fmt::format("%{:02X}", byte);
  }
  return path.rfind('/', 0) == 0 ? "file://" + uri : uri;
}

struct SarifRule {
  const char *id, *level, *text;
};
constexpr SarifRule kSarifRules[] = {
    {"wrong", "error", "The layer's introduced error is beyond what rounding explains: E > 4, R > 2, or another rule."},
    {"grey", "warning", "The layer's introduced error is unlikely for rounding, but not impossible: E > 1."},
    {"not-tested", "note", "Nothing of the layer was compared."},
    {"failure", "error", "The check, a device or a comparison failed."}};

size_t RuleOf(Verdict verdict) { return verdict == Verdict::kWrong ? 0 : verdict == Verdict::kGrey ? 1 : 2; }

Sarif SarifText(const std::string& text) { return {{"text", PrintableMessage(text)}}; }

Sarif SarifResult(size_t rule, const std::string& message, const std::string& model, Sarif logical) {
  Sarif location = {
      {"physicalLocation", {{"artifactLocation", {{"uri", UriOf(model)}}}, {"region", {{"startLine", 1}}}}}};
  if (!logical.empty()) location["logicalLocations"] = std::move(logical);
  return {{"ruleId", kSarifRules[rule].id},
          {"ruleIndex", rule},
          {"level", kSarifRules[rule].level},
          {"message", SarifText(message)},
          {"locations", {std::move(location)}}};
}

Sarif LayerResult(const CheckedModel& checked, const RunReport& run, const LayerReport& layer) {
  const OutputReport* worst = layer.Worst();
  std::string message = fmt::format("{}: layer {} '{}' ({}) is {}", run.device, layer.step.index, layer.step.name,
                                    TypesOf(layer.step), VerdictName(layer.verdict));
  if (worst != nullptr && layer.verdict != Verdict::kNotTested) {
    message += fmt::format(": E {}, R {}, introduced {}", Number(worst->excess, 3), Number(worst->rms_excess, 3),
                           Number(worst->introduced.max_abs, 3));
  }
  for (const std::string& why : {layer.reason, layer.cause}) message += why.empty() ? "" : "; " + why;
  Sarif logical = Sarif::array();
  logical.push_back({{"name", layer.step.name},
                     {"fullyQualifiedName", fmt::format("{}/{}", run.device, layer.step.name)},
                     {"kind", "element"}});
  Sarif result = SarifResult(RuleOf(layer.verdict), message, checked.model, std::move(logical));
  // The same layer of the same device is the same alert in the next run.
  result["partialFingerprints"] = {{"layer/v1", fmt::format("{}/{}", run.device, layer.step.name)}};
  result["properties"] = {{"device", run.device}, {"index", layer.step.index}, {"type", TypesOf(layer.step)}};
  return result;
}

Sarif Results(const CheckResult& result) {
  Sarif results = Sarif::array();
  const std::string& model = result.checked.model;
  for (const RunReport& run : result.runs) {
    for (const LayerReport& layer : run.layers) {
      if (layer.verdict != Verdict::kAligned) results.push_back(LayerResult(result.checked, run, layer));
    }
  }
  constexpr size_t kFailure = 3;
  for (const CheckError& error : result.errors) results.push_back(SarifResult(kFailure, error.message, model, {}));
  for (const AskedDevice& device : result.devices) {
    if (device.state == AskedDevice::State::kFailed)
      results.push_back(SarifResult(kFailure, device.device + ": " + device.error, model, {}));
  }
  for (const FileComparison& comparison : result.comparisons) {
    if (comparison.verdict == Verdict::kAligned) continue;
    results.push_back(
        SarifResult(kFailure, fmt::format("{}: {}", comparison.what, VerdictName(comparison.verdict)), model, {}));
  }
  return results;
}

}  // namespace

std::string FormatSarif(const CheckResult& result) {
  const Conclusion conclusion = Conclude(result);
  Sarif rules = Sarif::array();
  for (const SarifRule& rule : kSarifRules) {
    rules.push_back({{"id", rule.id},
                     {"shortDescription", SarifText(rule.text)},
                     {"defaultConfiguration", {{"level", rule.level}}}});
  }
  Sarif invocation = {{"executionSuccessful", conclusion.verdict != "error"},
                      {"exitCode", conclusion.exit_code},
                      {"exitCodeDescription", PrintableLine(conclusion.line)}};
  const std::string again = WholeCommand(result);
  if (!again.empty()) invocation["commandLine"] = again;
  Sarif run = {{"tool", {{"driver", {{"name", "Plumb"}, {"rules", std::move(rules)}}}}},
               {"invocations", {std::move(invocation)}},
               {"results", Results(result)}};
  for (const RunReport& one : result.runs) {
    Sarif& said = run["properties"]["restsOn"][one.device] = Sarif::array();
    for (const std::string& sentence : RestsOn(result.checked, one)) said.push_back(PrintableLine(sentence));
  }
  if (!result.checked.tool_version.empty()) run["tool"]["driver"]["fullName"] = result.checked.tool_version;
  const Sarif log = {
      {"$schema", "https://json.schemastore.org/sarif-2.1.0.json"}, {"version", "2.1.0"}, {"runs", {std::move(run)}}};
  return log.dump(1, ' ', false, Sarif::error_handler_t::replace) + "\n";
}

}  // namespace plumb
