// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

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

std::string Sentence(const ReducedCase& one) {
  const std::string layer = fmt::format("layer {} '{}' ({})", one.index, Printable(one.layer), Printable(one.type));
  const auto tries = one.tries.size();
  if (one.folder.empty())
    return fmt::format("{}: no part of the model shows it again{}; {} tries", layer,
                       one.in_time ? "" : " in the time given", tries);
  std::string text = fmt::format("{}: wrong alone, E {}", layer, Number(one.excess, 3));
  if (!one.needed_before.empty() || !one.needed_behind.empty()) {
    text = layer + ": needs ";
    for (const std::string& name : one.needed_before) text += name + " before it, ";
    for (const std::string& name : one.needed_behind) text += name + " behind it, ";
    text += fmt::format("E {}", Number(one.excess, 3));
  }
  text += fmt::format("; {} of {} layers, input {}; {} tries{}", one.layers, one.all_layers, one.inputs, tries,
                      one.in_time ? "" : ", and the time was up: more may be possible");
  if (!one.cause.empty()) text += "; " + one.cause;
  return PrintableLine(text);
}

}  // namespace

std::string FormatReduceText(const ReduceReport& report, size_t width) {
  if (report.wrong_steps == 0)
    return PrintableLine(fmt::format("nothing is wrong: '{}' as {} computes it", report.model, report.judged)) + "\n";
  std::string text;
  for (const ReducedCase& one : report.cases) {
    text += Wrapped(Sentence(one), width, 4) + "\n";
    int kept = 0;
    for (const ReduceTry& tried : one.tries) {
      if (!tried.wrong) continue;
      text += "    " + Wrapped(PrintableLine(fmt::format("{}: {}", tried.what, tried.outcome)), width, 8, 4) + "\n";
      ++kept;
    }
    if (one.folder.empty()) {
      for (const ReduceTry& tried : one.tries)
        text += "    " + Wrapped(PrintableLine(fmt::format("{}: {}", tried.what, tried.outcome)), width, 8, 4) + "\n";
      continue;
    }
    text += fmt::format("    {} of {} tries were right\n    again: model_check {}   or   sh {}/show.sh\n",
                        one.tries.size() - static_cast<size_t>(kept), one.tries.size(), Printable(one.folder),
                        Printable(one.folder));
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
