// SPDX-License-Identifier: Apache-2.0
// What SuggestNames found, for people and for --names.
#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "plumb/suggest.h"
#include "plumb/tool/printing.h"

namespace plumb {

std::string FormatNamesSummary(const NameSuggestions& found) {
  const auto by_value =
      std::count_if(found.pairs.begin(), found.pairs.end(), [](const SuggestedName& pair) { return pair.by_value; });
  const size_t by_structure = found.pairs.size() - static_cast<size_t>(by_value);
  const std::string values = found.values ? fmt::format("{} by value", by_value) : "no value was looked at";
  return fmt::format("{} of {} tensors are paired by structure, {}\n", by_structure,
                     found.pairs.size() + found.left.size(), values);
}

std::string FormatNamesText(const NameSuggestions& found, bool all, size_t width) {
  constexpr size_t kShown = 20, kLeft = 5;
  std::string text = fmt::format("model: {}\nother: {}\n", PrintableLine(found.model), PrintableLine(found.other));
  TextTable table({{"model", 0, false, true}, {"other", 0, false, true}, {"because", 1}});
  size_t renamed = 0;
  for (const SuggestedName& pair : found.pairs) {
    if (pair.model == pair.other && !all) continue;
    if (++renamed <= kShown || all || pair.by_value) table.Add({{pair.model}, {pair.other}, {pair.because}});
  }
  if (renamed > 0) text += table.Format(width);
  if (renamed > kShown && !all)
    text += fmt::format("... {} more (DiffStyle::all shows every pair)\n", renamed - kShown);
  for (size_t i = 0; i < found.left.size() && (all || i < kLeft); ++i)
    text += fmt::format("no partner: {}\n", Printable(found.left[i]));
  if (found.left.size() > kLeft && !all) text += fmt::format("... {} more\n", found.left.size() - kLeft);
  if (!found.untraced.empty())
    text += fmt::format("by weights and neighbours alone, since the formulas cannot be read: {}\n",
                        PrintableLine(found.untraced));
  return text + FormatNamesSummary(found);
}

std::string FormatNamesCsv(const NameSuggestions& found) {
  const auto quoted = [](const std::string& name) {
    if (name.find_first_of(",\"#") == std::string::npos) return name;
    std::string text = "\"";
    for (const char c : name) text += c == '"' ? "\"\"" : std::string(1, c);
    return text + "\"";
  };
  const auto broken = [](const std::string& name) { return name.find_first_of("\r\n") != std::string::npos; };
  std::set<std::string> named;
  for (const SuggestedName& pair : found.pairs) {
    if (pair.model == pair.other) named.insert(pair.model);
  }
  std::string text;
  for (const SuggestedName& pair : found.pairs) {
    if (pair.model == pair.other) continue;
    text += fmt::format("# {}\n", PrintableLine(pair.because));
    const bool row = !broken(pair.model) && !broken(pair.other) && named.insert(pair.model).second;
    text += row ? fmt::format("{},{}\n", quoted(pair.model), quoted(pair.other))
                : fmt::format("# no row: {} is {}\n", PrintableLine(pair.model), PrintableLine(pair.other));
  }
  return text;
}

}  // namespace plumb
