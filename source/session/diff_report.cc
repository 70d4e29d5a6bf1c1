// SPDX-License-Identifier: Apache-2.0
// What a comparison of two dumps found, for people (text) and programs (JSON, CSV).
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "check/report/util.h"
#include "plumb/diff.h"
#include "plumb/tool/printing.h"

namespace plumb {
namespace {

using Json = nlohmann::ordered_json;

struct Column {
  const char* name;
  int gives_way;  // TextColumn's
  std::function<std::string(const DiffPair&)> text;
};

std::string Short(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.4g", value);
  return text;
}

std::string Long(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.17g", value);
  return text;
}

bool Compared(const DiffPair& pair) { return pair.result.metrics.count > 0; }

std::string WorstOf(const DiffPair& pair) {
  const DiffMetrics& m = pair.result.metrics;
  if (m.worst < 0) return "-";
  return fmt::format("{} {} {}", Coordinates(m.worst, pair.a.shape), Short(m.worst_a), Short(m.worst_b));
}

// The numbers of one pair, as fields of the table and of the CSV.
std::vector<Column> NumberColumns(std::string (*number)(double)) {
  const auto metric = [number](double DiffMetrics::*field) {
    return
        [number, field](const DiffPair& p) { return Compared(p) ? number(p.result.metrics.*field) : std::string("-"); };
  };
  const auto side = [number](DiffSide DiffPair::*which, double DiffSide::*field) {
    return [=](const DiffPair& p) { return (p.*which).finite > 0 ? number(p.*which.*field) : std::string("-"); };
  };
  return {{"max_abs", 0, metric(&DiffMetrics::max_abs)},
          {"max_rel", 8, metric(&DiffMetrics::max_rel)},
          {"cosine", 6,
           [](const DiffPair& p) {
             char text[32];
             std::snprintf(text, sizeof(text), "%.9f", p.result.metrics.cosine);
             return Compared(p) ? std::string(text) : std::string("-");
           }},
          {"snr_db", 7, metric(&DiffMetrics::snr_db)},
          {"max_ulp", 5, metric(&DiffMetrics::max_ulp)},
          {"mean_a", 2, side(&DiffPair::a, &DiffSide::mean)},
          {"min_a", 2, side(&DiffPair::a, &DiffSide::min)},
          {"max_a", 2, side(&DiffPair::a, &DiffSide::max)},
          {"mean_b", 2, side(&DiffPair::b, &DiffSide::mean)},
          {"min_b", 2, side(&DiffPair::b, &DiffSide::min)},
          {"max_b", 2, side(&DiffPair::b, &DiffSide::max)},
          {"sum_diff", 1, [number](const DiffPair& p) { return number(p.sum_diff); }},
          {"sum_abs_diff", 1, [number](const DiffPair& p) { return number(p.sum_abs_diff); }}};
}

std::string SpecialsOf(const DiffPair& pair) {
  return fmt::format("{}/{} {}/{}", pair.a.nans, pair.a.infinities, pair.b.nans, pair.b.infinities);
}

std::vector<Column> TableColumns() {
  std::vector<Column> columns = {{"verdict", 0, [](const DiffPair& p) { return std::string(VerdictName(p.verdict)); }},
                                 {"blob", 0, [](const DiffPair& p) { return p.Name(); }},
                                 {"shape", 9, [](const DiffPair& p) { return p.a.shape.ToString(); }},
                                 {"failing", 0, [](const DiffPair& p) { return std::to_string(p.result.failing); }}};
  for (Column& column : NumberColumns(Short)) columns.push_back(std::move(column));
  columns.push_back({"nan/inf a b", 3, SpecialsOf});
  columns.push_back({"worst at, a, b", 4, WorstOf});
  return columns;
}

// The aligned pairs that differ most; a single one more takes no more room than the line that would count it.
std::set<const DiffPair*> WorstAligned(const DiffReport& report) {
  constexpr size_t kWorst = 5;
  std::vector<const DiffPair*> pairs;
  for (const DiffPair& pair : report.pairs) {
    if (pair.verdict == Verdict::kAligned) pairs.push_back(&pair);
  }
  std::stable_sort(pairs.begin(), pairs.end(), [](const DiffPair* a, const DiffPair* b) {
    return a->result.metrics.snr_db < b->result.metrics.snr_db;
  });
  if (pairs.size() > kWorst + 1) pairs.resize(kWorst);
  return {pairs.begin(), pairs.end()};
}

const char* ColorOf(Verdict verdict) {
  return verdict == Verdict::kAligned ? "\033[32m" : verdict == Verdict::kWrong ? "\033[1;31m" : "\033[36m";
}

std::string List(const std::vector<std::string>& names, const std::string& side, bool all) {
  constexpr size_t kShown = 5;
  if (names.empty()) return "";
  std::string text = fmt::format("not paired, only in {}: {}\n", side, names.size());
  const size_t shown = all ? names.size() : std::min(names.size(), kShown);
  for (size_t i = 0; i < shown; ++i) text += fmt::format("  {}\n", Printable(names[i]));
  if (shown < names.size())
    text += fmt::format("  ... {} more (DiffStyle::all shows every one)\n", names.size() - shown);
  return text;
}

Json Num(double value) {  // JSON has neither NaN nor infinities
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

Json SideJson(const DiffSide& side) {
  Json json{{"file", side.path}, {"dtype", DTypeName(side.dtype)}, {"shape", side.shape.dims()}};
  json["mean"] = side.finite > 0 ? Num(side.mean) : Json(nullptr);
  json["min"] = side.finite > 0 ? Num(side.min) : Json(nullptr);
  json["max"] = side.finite > 0 ? Num(side.max) : Json(nullptr);
  json["nan"] = side.nans;
  json["inf"] = side.infinities;
  return json;
}

Json PairJson(const DiffPair& p) {
  const DiffMetrics& m = p.result.metrics;
  Json json;
  json["index"] = p.has_layer ? Json(p.layer_index) : Json(nullptr);
  json["layer"] = p.has_layer ? Json(p.layer) : Json(nullptr);
  json["type"] = p.type;
  json["direction"] = p.has_layer ? Json(p.output ? "out" : "in") : Json(nullptr);
  json["slot"] = p.slot;
  json["blob"] = p.blob;
  json["verdict"] = VerdictName(p.verdict);
  json["reason"] = p.reason;
  json["count"] = m.count;
  json["failing"] = p.result.failing;
  json["first_failing"] = p.result.first < 0 ? Json(nullptr) : Json(p.result.first);
  json["atol"] = Num(p.result.atol);
  json["rtol"] = Num(p.result.rtol);
  json["max_abs"] = Num(m.max_abs);
  json["max_rel"] = Num(m.max_rel);
  json["cosine"] = Num(m.cosine);
  json["snr_db"] = Num(m.snr_db);
  json["max_ulp"] = Num(m.max_ulp);
  json["sum_diff"] = Num(p.sum_diff);
  json["sum_abs_diff"] = Num(p.sum_abs_diff);
  json["worst"] = nullptr;
  if (m.worst >= 0) {
    json["worst"] = {
        {"index", m.worst}, {"at", Coordinates(m.worst, p.a.shape)}, {"a", Num(m.worst_a)}, {"b", Num(m.worst_b)}};
  }
  json["a"] = SideJson(p.a);
  json["b"] = SideJson(p.b);
  return json;
}

std::string CsvField(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

}  // namespace

namespace {

// "The network inputs differ: 'x' by up to 0.3: the two runs did not see the same data.", or "".
std::string InputSentence(const DiffReport& report) {
  std::string text;
  for (const DiffPair* pair : report.DifferentInputs()) {
    const bool numbers = Compared(*pair);
    text += fmt::format(
        "{}'{}' {}", text.empty() ? "" : ", ", Printable(pair->blob),
        numbers ? "by up to " + Short(pair->result.metrics.max_abs) : fmt::format("({})", PrintableLine(pair->reason)));
  }
  return text.empty() ? ""
                      : fmt::format("The network inputs differ: {}: the two runs did not see the same data.\n", text);
}

}  // namespace

std::string FormatDiffSummary(const DiffReport& report) {
  const std::string unpaired = fmt::format("{} only in A, {} only in B", report.only_a.size(), report.only_b.size());
  if (report.pairs.empty())
    return fmt::format("Nothing could be compared: A and B have no blob in common ({}).\n", unpaired);
  const std::string counts = fmt::format("{} aligned, {} wrong, {} not tested; {}", report.Count(Verdict::kAligned),
                                         report.Count(Verdict::kWrong), report.Count(Verdict::kNotTested), unpaired);
  const DiffPair* first = report.FirstWrong();
  if (first == nullptr && report.verdict == Verdict::kAligned)
    return fmt::format("All that was compared is aligned: {}.\n", counts);
  if (first == nullptr) return fmt::format("Nothing could be compared: {}.\n", counts);
  return fmt::format("{}First difference: {}: {} ({}).\n", InputSentence(report), Printable(first->Name()),
                     PrintableLine(first->reason), counts);
}

std::string FormatDiffText(const DiffReport& report, const DiffStyle& style) {
  const auto line = [&](const std::string& text) { return Wrapped(PrintableLine(text), style.width, 4) + "\n"; };
  std::string text =
      InputSentence(report) + line("A: " + report.a) + line("B: " + report.b) +
      line(fmt::format("rule: {}; integers must be equal unless the rule says otherwise", report.rule.Describe()));
  for (const std::string& note : report.notes) text += line("note: " + note);
  const std::vector<Column> columns = TableColumns();
  std::vector<TextColumn> titles;
  for (const Column& column : columns)
    titles.push_back({column.name, column.gives_way, false, std::string(column.name) == "blob"});
  TextTable table(titles);
  size_t left_out = 0;
  const std::set<const DiffPair*> worst = WorstAligned(report);
  for (const DiffPair& pair : report.pairs) {
    if (!style.all && pair.verdict == Verdict::kAligned && worst.count(&pair) == 0) {
      ++left_out;
      continue;
    }
    std::vector<TextCell> cells;
    for (const Column& column : columns) cells.push_back({column.text(pair), ""});
    if (style.color) cells[0].color = ColorOf(pair.verdict);
    table.Add(std::move(cells), pair.reason.empty() ? ""
                                                    : fmt::format("         {}\n", Wrapped(PrintableLine(pair.reason),
                                                                                           style.width, 9, 9)));
  }
  text += table.Format(style.width);
  if (left_out > 0) text += fmt::format("...      {} more aligned (DiffStyle::all shows every pair)\n", left_out);
  return text + List(report.only_a, "A", style.all) + List(report.only_b, "B", style.all) + FormatDiffSummary(report);
}

std::string FormatDiffJson(const DiffReport& report) {
  Json json{{"tool", "blob_diff"},
            {"a", report.a},
            {"b", report.b},
            {"rule", report.rule.Describe()},
            {"verdict", VerdictName(report.verdict)}};
  json["inputs_differ"] = Json::array();
  for (const DiffPair* pair : report.DifferentInputs()) json["inputs_differ"].push_back(pair->blob);
  json["notes"] = report.notes;
  json["pairs"] = Json::array();
  for (const DiffPair& pair : report.pairs) json["pairs"].push_back(PairJson(pair));
  json["only_in_a"] = report.only_a;
  json["only_in_b"] = report.only_b;
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string FormatDiffCsv(const DiffReport& report) {
  const std::vector<Column> numbers = NumberColumns(Long);
  std::string text = "verdict,index,layer,direction,slot,blob,shape,count,failing";
  for (const Column& column : numbers) text += std::string(",") + column.name;
  text += ",nan_a,inf_a,nan_b,inf_b,worst,reason\n";
  for (const DiffPair& p : report.pairs) {
    const DiffMetrics& m = p.result.metrics;
    text += fmt::format("{},{},{},{},{},{},{},{},{}", VerdictName(p.verdict),
                        p.has_layer ? std::to_string(p.layer_index) : "", CsvField(p.layer),
                        p.has_layer ? (p.output ? "out" : "in") : "", p.slot, CsvField(p.blob),
                        CsvField(p.a.shape.ToString()), m.count, p.result.failing);
    for (const Column& column : numbers) text += "," + column.text(p);
    text += fmt::format(",{},{},{},{},{},{}\n", p.a.nans, p.a.infinities, p.b.nans, p.b.infinities, m.worst,
                        CsvField(p.reason));
  }
  return text;
}

}  // namespace plumb
