// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/process.h"
#include "base/text.h"
#include "plumb/plumb.h"
#include "plumb/tool/printing.h"
#include "plumb/tool/reduce.h"

namespace plumb {
namespace {

using ReduceJson = nlohmann::ordered_json;

std::string LineOf(const ReduceJson& json) {
  return json.dump(-1, ' ', false, ReduceJson::error_handler_t::replace) + "\n";
}

ReduceJson NumberOf(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

// What a terminal or a file shows, from column 4 on.
std::string Indented(const std::string& text, size_t width) {
  return "    " + Wrapped(PrintableLine(text), width, 8, 4) + "\n";
}

std::string TryText(const ReduceTry& tried) { return fmt::format("{}: {}", tried.what, tried.outcome); }

std::string Headline(const ReducedCase& one) {
  const std::string layer = fmt::format("layer {} '{}' ({})", one.index, Printable(one.layer), Printable(one.type));
  if (one.folder.empty())
    return fmt::format("{}: no part of the model shows it again{}; {} tries", layer,
                       one.in_time ? "" : " in the time given", one.tries.size());
  std::string text = layer + ": ";
  if (one.needed_before.empty() && one.needed_behind.empty()) text += "wrong alone, ";
  for (const std::string& name : one.needed_before) text += fmt::format("needs {} before it, ", name);
  for (const std::string& name : one.needed_behind) text += fmt::format("needs {} behind it, ", name);
  return text + "E " + Number(one.excess, 3);
}

std::string CaseLines(const ReducedCase& one, size_t width) {
  std::string text;
  if (!one.cause.empty()) text += Indented(one.cause, width);
  text += Indented(fmt::format("{} of {} layers; input {}", one.layers, one.all_layers, one.inputs), width);
  for (const ReduceTry& tried : one.tries) {
    if (tried.wrong) text += Indented(TryText(tried), width);
  }
  const auto right =
      std::count_if(one.tries.begin(), one.tries.end(), [](const ReduceTry& tried) { return !tried.wrong; });
  text += Indented(fmt::format("{} of {} tries were right", right, one.tries.size()), width);
  if (!one.in_time) text += Indented("the time was up: more may be possible", width);
  const auto again = [&](const std::string& command, const std::string& path) {
    return fmt::format("    again: {} {}\n", command, PrintableLine(QuotedForShell(path)));
  };
  return text + again("model_check", one.folder) + again("sh", one.folder + "/show.sh");
}

}  // namespace

std::string FormatReduceText(const ReduceReport& report, size_t width) {
  if (report.wrong_steps == 0)
    return PrintableLine(fmt::format("nothing is wrong: '{}' as {} computes it", report.model, report.judged)) + "\n";
  std::string text;
  for (const ReducedCase& one : report.cases) {
    text += Wrapped(PrintableLine(Headline(one)), width, 4) + "\n";
    if (!one.folder.empty()) {
      text += CaseLines(one, width);
      continue;
    }
    for (const ReduceTry& tried : one.tries) text += Indented(TryText(tried), width);
  }
  const auto reduced = std::count_if(report.cases.begin(), report.cases.end(),
                                     [](const ReducedCase& one) { return !one.folder.empty(); });
  return text + fmt::format("{} of {} wrong steps are reduced\n", reduced, report.wrong_steps);
}

std::string FormatReduceLines(const ReduceReport& report) {
  std::string text;
  for (const ReducedCase& one : report.cases) {
    for (const ReduceTry& tried : one.tries) {
      text += LineOf({{"layer", one.layer},
                      {"tried", tried.what},
                      {"wrong", tried.wrong},
                      {"outcome", tried.outcome},
                      {"seconds", tried.seconds}});
    }
    text += LineOf({{"layer", one.layer},
                    {"index", one.index},
                    {"type", one.type},
                    {"cause", one.cause},
                    {"reduced", !one.folder.empty()},
                    {"folder", one.folder},
                    {"layers", one.layers},
                    {"all_layers", one.all_layers},
                    {"nodes", one.nodes},
                    {"needed_before", one.needed_before},
                    {"needed_behind", one.needed_behind},
                    {"inputs", one.inputs},
                    {"E", NumberOf(one.excess)},
                    {"in_time", one.in_time}});
  }
  return text;
}

}  // namespace plumb
