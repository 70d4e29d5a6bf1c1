// SPDX-License-Identifier: Apache-2.0
// --help.
#include <fmt/core.h>

#include <algorithm>
#include <sstream>

#include "common/command_line_impl.h"
#include "common/output_options.h"

namespace plumb {
namespace {

constexpr size_t kColumn = 34, kMaxWidth = 120;

// `line`, then the words of `text`; what does not fit goes on below at `column`.
std::string Wrapped(std::string line, const std::string& text, size_t column = kColumn) {
  const size_t width = std::clamp<size_t>(static_cast<size_t>(OutputWidth()), 2 * kColumn, kMaxWidth);
  std::string out;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (line.size() > column && line.size() + word.size() + 1 > width) {
      out += line + "\n";
      line.clear();
    }
    if (line.size() < column) line.resize(column, ' ');
    line += (line.empty() || line.back() == ' ' ? "" : " ") + word;
  }
  return fmt::format("{}{}\n", out, line);
}

// Lines of prose and examples. Of an example that is too wide the explanation goes below the command.
std::string Fitted(const std::string& text) {
  std::string out, line;
  for (std::istringstream lines(text); std::getline(lines, line);) {
    const size_t lead = std::min(line.find_first_not_of(' '), line.size()), gap = line.find("  ", lead);
    if (line.size() <= static_cast<size_t>(OutputWidth())) {
      out += line + "\n";
    } else if (gap == std::string::npos) {
      out += Wrapped("", line, lead);
    } else {
      out += fmt::format("{}\n{}", line.substr(0, gap), Wrapped("", line.substr(gap), lead + 4));
    }
  }
  return out;
}

}  // namespace

std::string CommandLine::Impl::HelpOf(const Option& option) const {
  const char* value = option.flag ? "" : !option.choices.empty() ? "" : option.list ? " TEXT ..." : " TEXT";
  std::string help = option.help, others;
  for (const std::string& spelling : option.word->spellings) others += (others.empty() ? "-" : ", -") + spelling;
  if (!option.shown_default.empty()) help += fmt::format(" [{}]", option.shown_default);
  if (!others.empty()) help += fmt::format(" (also {})", others);
  const std::string letter = option.word->letter.empty() ? "      " : fmt::format("  -{}, ", option.word->letter);
  return Wrapped(fmt::format("{}{}{}  ", letter, option.Name(), value), help);
}

std::string CommandLine::Impl::Usage() const {
  std::string usage = fmt::format("Usage: {} [OPTIONS]", name);
  for (const Place& place : places) usage += place.required ? " " + place.name : fmt::format(" [{}]", place.name);
  return usage + "\n";
}

std::string CommandLine::Impl::Help() const {
  std::string text = Fitted(description) + Usage();
  for (const Place& place : places) text += Wrapped("  " + place.name, place.help);
  std::vector<std::string> groups;
  for (const auto& option : options) {
    if (std::find(groups.begin(), groups.end(), option->group) == groups.end()) groups.push_back(option->group);
  }
  std::rotate(groups.begin(), groups.begin() + 1, groups.end());  // what every tool has comes last
  for (const std::string& title : groups) {
    text += fmt::format("\n{}:\n", title);
    for (const auto& option : options) {
      if (option->group == title) text += HelpOf(*option);
    }
  }
  return fmt::format("{}\n{}", text, Fitted(examples));
}

// Fits a terminal of 25 lines: the options of Brief, the first examples, the exit codes.
std::string CommandLine::Impl::ShortHelp() const {
  constexpr size_t kShortColumn = 22;
  constexpr int kExamples = 2;
  std::string text = fmt::format("{}{}\n", Fitted(description), Usage());
  for (const auto& [option, help] : brief) {
    const std::string letter = option->word->letter.empty() ? "      " : fmt::format("  -{}, ", option->word->letter);
    text += Wrapped(fmt::format("{}{}  ", letter, option->Name()), help, kShortColumn);
  }
  std::string shown, codes, line;
  int count = 0;
  for (std::istringstream lines(examples); std::getline(lines, line);) {
    const bool indented = line.rfind("  ", 0) == 0;
    if (indented && ++count > kExamples) continue;
    if (!codes.empty() || line.rfind("Exit codes", 0) == 0) {
      codes += line + "\n";
    } else if (indented || line == "Examples:") {
      shown += line + "\n";
    }
  }
  return fmt::format("{}\n{}{}All options: {} --help all\n", text, Fitted(shown), Fitted(codes), name);
}

}  // namespace plumb
