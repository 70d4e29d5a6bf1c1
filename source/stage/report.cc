// SPDX-License-Identifier: Apache-2.0
// The report of stage_diff: a table per sample, the cause of each guilty stage, the answer, the last sentence; and
// JSON.
#include <fmt/core.h>

#include <cmath>

#include "base/json.h"
#include "base/text.h"
#include "plumb/stage.h"
#include "plumb/tool/printing.h"

namespace plumb {
namespace {

using Json = FileJson;

const char* ColorOfStage(StageVerdict verdict) {
  switch (verdict) {
    case StageVerdict::kAligned: return "\033[32m";
    case StageVerdict::kIntroduced: return "\033[1;31m";
    case StageVerdict::kInherited: return "\033[33m";
    case StageVerdict::kDiffers: return "\033[1;33m";
    case StageVerdict::kNotTested: return "\033[36m";
  }
  return "";
}

std::string WorstText(const StageRow& row) {
  if (row.worst.empty()) return "";
  std::string text = "[";
  for (size_t i = 0; i < row.worst.size(); ++i) text += fmt::format("{}{}", i > 0 ? "," : "", row.worst[i]);
  return fmt::format("{}] {} {}", text, Number(row.worst_original, 4), Number(row.worst_port, 4));
}

std::string ShapesOf(const StageRow& row) {
  const std::string ours = row.original_shape.ToString(), theirs = row.port_shape.ToString();
  return ours == theirs ? ours : ours + " " + theirs;
}

std::string BelowRow(const StageRow& row, size_t width) {
  std::string text;
  const auto line = [&](const std::string& words) {
    text += fmt::format("       {}\n", Wrapped(PrintableLine(words), width, 11, 7));
  };
  if (!row.cause.empty()) line(row.cause);
  if (!row.mend.empty()) line("as the original: " + row.mend);
  if (!row.reason.empty()) line(row.reason);
  return text;
}

std::string SampleTable(const StageSampleReport& sample, const StageStyle& style) {
  TextTable table({{"#", 1, true},
                   {"stage", 0, false, true},
                   {"verdict"},
                   {"dtype", 2},
                   {"shape", 3, false, true},
                   {"max diff", 0, true},
                   {"differing", 4, true},
                   {"own", 0, true},
                   {"worst: original port", 1, false, true}});
  for (size_t i = 0; i < sample.rows.size(); ++i) {
    const StageRow& row = sample.rows[i];
    const double share =
        row.count > 0 ? 100.0 * static_cast<double>(row.differing) / static_cast<double>(row.count) : 0;
    table.Add({{std::to_string(i)},
               {row.stage},
               {StageVerdictName(row.verdict), style.color ? ColorOfStage(row.verdict) : ""},
               {DTypeName(row.dtype)},
               {ShapesOf(row)},
               {std::isinf(row.max_abs) ? "-" : Number(row.max_abs, 4)},
               {Number(share, 3) + " %"},
               {row.has_own ? Number(row.max_own, 4) : ""},
               {WorstText(row)}},
              BelowRow(row, style.width));
  }
  return table.Format(style.width);
}

std::string Names(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += fmt::format("{}'{}'", text.empty() ? "" : ", ", Printable(name));
  return text;
}

std::string AnswerText(const StageSampleReport& sample) {
  const StageAnswer& answer = sample.answer;
  if (!answer.known) return "";
  std::string text = fmt::format("answer: {}'{}' {} -> {}{}", answer.top ? "top-1 of " : "", Printable(answer.stage),
                                 answer.original, answer.port, answer.same ? ", the same" : "");
  if (sample.first_guilty < 0) return text;
  const std::string guilty = Printable(sample.rows[static_cast<size_t>(sample.first_guilty)].stage);
  if (!answer.mended.empty()) {
    text += fmt::format("; with '{}' mended {} ({})", guilty, answer.mended, answer.why);
  } else if (!answer.why.empty()) {
    text += fmt::format("; with '{}' mended it cannot be told: {}", guilty, answer.why);
  }
  return text;
}

constexpr size_t kShownSamples = 10;

// One sample whatever it says; of several those that differ.
bool IsShown(const StageReport& report, const StageSampleReport& sample) {
  return report.samples.size() == 1 || sample.first_guilty >= 0 || report.different == 0;
}

Json Finite(double value) {
  if (std::isfinite(value)) return value;
  return Json(nullptr);
}

Json RowJson(const StageRow& row) {
  Json json{{"stage", row.stage},
            {"kind", row.kind},
            {"verdict", StageVerdictName(row.verdict)},
            {"reason", row.reason},
            {"dtype", DTypeName(row.dtype)},
            {"shape", row.original_shape.dims()},
            {"port_shape", row.port_shape.dims()}};
  json["max_abs"] = Finite(row.max_abs);
  json["max_own"] = row.has_own ? Finite(row.max_own) : Json(nullptr);
  json["count"] = row.count;
  json["differing"] = row.differing;
  json["worst"] = nullptr;
  if (!row.worst.empty())
    json["worst"] = Json{{"at", row.worst}, {"original", Finite(row.worst_original)}, {"port", Finite(row.worst_port)}};
  json["original_does"] = row.original_does;
  json["port_does"] = row.port_does;
  json["cause"] = row.cause;
  json["mend"] = row.mend;
  return json;
}

}  // namespace

std::string FormatStageSummary(const StageReport& report) {
  std::string counts = fmt::format("{} aligned, {} different, {} not tested of {} samples", report.aligned,
                                   report.different, report.not_tested, report.samples.size());
  if (report.broken > 0) counts += fmt::format(", {} broken", report.broken);
  for (const StageSampleReport& sample : report.samples) {
    if (sample.first_guilty < 0) continue;
    const StageRow& row = sample.rows[static_cast<size_t>(sample.first_guilty)];
    return fmt::format("DIFFERENT: first guilty stage '{}' of sample '{}': {} ({})\n", Printable(row.stage),
                       Printable(sample.original),
                       PrintableLine(!row.cause.empty()    ? row.cause
                                     : !row.reason.empty() ? row.reason
                                                           : StageVerdictName(row.verdict)),
                       counts);
  }
  if (report.different > 0) return fmt::format("DIFFERENT: {}\n", counts);
  if (report.both_empty) return "ALIGNED: neither list has a detection\n";
  if (report.aligned == 0)
    return fmt::format("NOTHING COMPARED: no stage of both sides has the same name ({})\n", counts);
  return fmt::format("ALIGNED: {}\n", counts);
}

std::string FormatStageText(const StageReport& report, const StageStyle& style) {
  const auto line = [&](const std::string& words) { return Wrapped(PrintableLine(words), style.width, 4) + "\n"; };
  std::string text = line("original: " + report.original) + line("port: " + report.port);
  for (const std::string& note : report.notes) text += line("note: " + note);
  text += line("own: what the original's stage, on the port's own input, is off by from the port's");
  size_t shown = 0;
  for (const StageSampleReport& sample : report.samples) {
    if (!IsShown(report, sample) || ++shown > kShownSamples) continue;
    text += fmt::format("\nsample '{}'\n", Printable(sample.original));
    for (const std::string& note : sample.notes) text += line("note: " + note);
    text += SampleTable(sample, style);
    if (!sample.only_original.empty()) text += line("only in the original: " + Names(sample.only_original));
    if (!sample.only_port.empty()) text += line("only in the port: " + Names(sample.only_port));
    const std::string answer = AnswerText(sample);
    if (!answer.empty()) text += line(answer);
  }
  if (shown > kShownSamples) text += fmt::format("\n... {} more samples that differ\n", shown - kShownSamples);
  return text + "\n" + Wrapped(FormatStageSummary(report), style.width, 4);
}

std::string FormatStageJson(const StageReport& report) {
  Json json{{"tool", "stage_diff"}, {"original", report.original}, {"port", report.port}};
  json["verdict"] = report.different > 0                      ? "different"
                    : report.aligned > 0 || report.both_empty ? "aligned"
                                                              : "not tested";
  json["aligned"] = report.aligned;
  json["different"] = report.different;
  json["not_tested"] = report.not_tested;
  json["broken"] = report.broken;
  json["notes"] = report.notes;
  json["samples"] = Json::array();
  for (const StageSampleReport& sample : report.samples) {
    Json one{{"original", sample.original}, {"port", sample.port}};
    one["first_guilty"] = sample.first_guilty < 0 ? Json(nullptr) : Json(sample.first_guilty);
    one["only_original"] = sample.only_original;
    one["only_port"] = sample.only_port;
    one["notes"] = sample.notes;
    one["answer"] = nullptr;
    if (sample.answer.known) {
      one["answer"] =
          Json{{"stage", sample.answer.stage}, {"original", sample.answer.original}, {"port", sample.answer.port},
               {"same", sample.answer.same},   {"mended", sample.answer.mended},     {"why", sample.answer.why}};
    }
    one["stages"] = Json::array();
    for (const StageRow& row : sample.rows) one["stages"].push_back(RowJson(row));
    json["samples"].push_back(std::move(one));
  }
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace plumb
