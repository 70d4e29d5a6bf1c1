// SPDX-License-Identifier: Apache-2.0
// What DiffWeights found, for people and for programs.
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "plumb/tool/printing.h"
#include "plumb/weights.h"

namespace plumb {
namespace {

std::string NamesOnOneSide(const std::vector<std::string>& names, const char* side, const WeightsStyle& style) {
  constexpr size_t kShown = 5;
  if (names.empty()) return "";
  std::string text = fmt::format("not paired, only in the {}: {}\n", side, names.size());
  const size_t shown = style.all ? names.size() : std::min(names.size(), kShown);
  for (size_t i = 0; i < shown; ++i) text += fmt::format("  {}\n", Printable(names[i]));
  if (shown < names.size())
    text += fmt::format("  ... {} more (WeightsStyle::all shows every one)\n", names.size() - shown);
  return text;
}

const char* ColorOfWeights(WeightsPair::Verdict verdict) {
  return verdict == WeightsPair::kDifferent ? "\033[1;31m" : verdict == WeightsPair::kRounded ? "\033[33m" : "\033[32m";
}

}  // namespace

int WeightsReport::Count(WeightsPair::Verdict verdict) const {
  return static_cast<int>(
      std::count_if(pairs.begin(), pairs.end(), [&](const WeightsPair& pair) { return pair.verdict == verdict; }));
}

const WeightsPair* WeightsReport::FirstDifferent() const {
  const auto found = std::find_if(pairs.begin(), pairs.end(),
                                  [](const WeightsPair& pair) { return pair.verdict == WeightsPair::kDifferent; });
  return found == pairs.end() ? nullptr : &*found;
}

const char* WeightsVerdictName(WeightsPair::Verdict verdict) {
  constexpr const char* kNames[] = {"equal", "folded", "rounded", "different"};
  return kNames[verdict];
}

std::string FormatWeightsSummary(const WeightsReport& report) {
  const std::string counts = fmt::format(
      "{} equal, {} folded, {} rounded, {} different; {} only in the original, {} only in the converted",
      report.Count(WeightsPair::kEqual), report.Count(WeightsPair::kFolded), report.Count(WeightsPair::kRounded),
      report.Count(WeightsPair::kDifferent), report.only_original.size(), report.only_converted.size());
  if (report.pairs.empty()) return fmt::format("Nothing could be compared: no weight has a partner ({}).\n", counts);
  const WeightsPair* first = report.FirstDifferent();
  if (first == nullptr) return fmt::format("The weights are the original's: {}.\n", counts);
  return fmt::format("First difference: '{}' {} ({}).\n", Printable(first->original), PrintableLine(first->cause),
                     counts);
}

std::string FormatWeightsText(const WeightsReport& report, const WeightsStyle& style) {
  constexpr int kShownOfAKind = 5;
  const auto line = [&](const std::string& text) { return Wrapped(PrintableLine(text), style.width, 4) + "\n"; };
  std::string text = line("original: " + report.original) + line("converted: " + report.converted);
  for (const std::string& note : report.notes) text += line("note: " + note);
  TextTable table({{"verdict"},
                   {"original", 0, false, true},
                   {"converted", 0, false, true},
                   {"shape", 2},
                   {"paired by", 1},
                   {"max diff", 3, true}});
  std::map<WeightsPair::Verdict, int> shown;
  int left_out = 0;
  for (const WeightsPair& pair : report.pairs) {
    if (!style.all && pair.verdict != WeightsPair::kDifferent && ++shown[pair.verdict] > kShownOfAKind) {
      ++left_out;
      continue;
    }
    table.Add({{WeightsVerdictName(pair.verdict), style.color ? ColorOfWeights(pair.verdict) : ""},
               {pair.original},
               {pair.converted.empty() ? "-" : pair.converted},
               {pair.shape.ToString()},
               {pair.paired_by},
               {fmt::format("{:.4g}", pair.max_abs)}},
              pair.cause.empty()
                  ? ""
                  : fmt::format("           {}\n", Wrapped(PrintableLine(pair.cause), style.width, 11, 11)));
  }
  if (!report.pairs.empty()) text += table.Format(style.width);
  if (left_out > 0) text += fmt::format("...        {} more (WeightsStyle::all shows every pair)\n", left_out);
  return text + NamesOnOneSide(report.only_original, "original", style) +
         NamesOnOneSide(report.only_converted, "converted", style) + FormatWeightsSummary(report);
}

std::string FormatWeightsJson(const WeightsReport& report) {
  using Json = nlohmann::ordered_json;
  Json json{
      {"tool", "blob_diff"}, {"compares", "weights"}, {"original", report.original}, {"converted", report.converted}};
  json["notes"] = report.notes;
  json["pairs"] = Json::array();
  for (const WeightsPair& pair : report.pairs) {
    Json row{{"original", pair.original}, {"converted", pair.converted}, {"shape", pair.shape.dims()}};
    row["paired_by"] = pair.paired_by;
    row["verdict"] = WeightsVerdictName(pair.verdict);
    row["cause"] = pair.cause;
    row["max_abs"] = pair.max_abs;
    json["pairs"].push_back(row);
  }
  json["only_in_original"] = report.only_original;
  json["only_in_converted"] = report.only_converted;
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace plumb
