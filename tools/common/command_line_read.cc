// SPDX-License-Identifier: Apache-2.0
// From the words of a command line to options, values and places; the rules between them.
#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>

#include "common/command_line_impl.h"
#include "common/outputs.h"
#include "common/print.h"
#include "plumb/tool/printing.h"

namespace plumb {
namespace {

// "--device" and "-d" are "device" and "d".
std::string_view WithoutDashes(std::string_view text) {
  const size_t name = text.find_first_not_of('-');
  return name == std::string_view::npos ? std::string_view() : text.substr(name);
}

bool IsOption(const std::string& text) {
  if (text.size() < 2 || text[0] != '-') return false;
  return !ContinuesList(Values::kNumbers, text);  // -1,2 is a value
}

// What may stand behind an option that is on or off.
bool IsSwitch(const std::string& text) { return text == "0" || text == "1" || text == "true" || text == "false"; }

// Of TNN's switches whose work is done anyway, or never.
bool SaysNothingToDo(const std::string& spelling) {
  const char* why = WhyNothingToDo(WithoutDashes(spelling));
  if (why != nullptr) PrintError("note: {} does nothing: {}\n", spelling, why);
  return why != nullptr;
}

// Every call of the tool shows it.
[[noreturn]] void OurMistake(const std::string& tool, std::string_view option) {
  PrintError("{}: option {} has no row in vocabulary.cc, or is declared never or twice\n", tool, option);
  std::abort();
}

}  // namespace

CommandLine::Impl::Option* CommandLine::Impl::Find(std::string_view spelling) const {
  const auto found = std::find_if(options.begin(), options.end(), [&](const auto& option) {
    return HasSpelling(*option->word, WithoutDashes(spelling));
  });
  return found == options.end() ? nullptr : found->get();
}

CommandLine::Impl::Option& CommandLine::Impl::Declared(std::string_view spelling) const {
  Option* option = Find(spelling);
  if (option == nullptr) OurMistake(name, spelling);
  return *option;
}

CommandLine::Impl::Option* CommandLine::Impl::Declare(const std::string& option_name, const std::string& help) {
  auto option = std::make_unique<Option>();
  option->word = FindWord(WithoutDashes(option_name));
  if (option->word == nullptr || Find(option_name) != nullptr) {
    OurMistake(name, option_name);
  }
  option->group = group;
  option->help = help;
  options.push_back(std::move(option));
  return options.back().get();
}

Status CommandLine::Impl::Unknown(const std::string& option_name) const {
  const std::string_view bare = WithoutDashes(option_name);
  if (const char* why = WhyRefused(bare); why != nullptr) {
    return Status::InvalidArgument(fmt::format("{}: {}", option_name, why));
  }
  if (const Word* word = FindWord(bare); word != nullptr) {
    return Status::InvalidArgument(fmt::format("{} does not take {}{}", name, option_name,
                                               bare == word->name ? "" : fmt::format(" (--{})", word->name)));
  }
  std::vector<std::string> known;
  for (const auto& option : options) {
    known.push_back(option->word->name);
    for (const std::string& spelling : option->word->spellings) known.push_back(spelling);
  }
  const std::string nearest = NearestWord(bare, known);
  const Option* meant = nearest.empty() ? nullptr : Find(nearest);
  return Status::InvalidArgument(
      fmt::format("unknown option '{}'{}", option_name,
                  meant == nullptr ? "" : fmt::format("; did you mean '{}'?", meant->Name())));
}

// Returns the place behind the option and its values.
size_t CommandLine::Impl::ReadOption(const std::vector<std::string>& arguments, size_t at, Status* status) {
  const std::string& argument = arguments[at];
  const size_t equals = argument.find('=');
  const std::string spelling = argument.substr(0, equals);
  Option* option = Find(spelling);
  size_t next = at + 1;
  if (option == nullptr && SaysNothingToDo(spelling)) {
    return equals == std::string::npos && next < arguments.size() && IsSwitch(arguments[next]) ? next + 1 : next;
  }
  if (option == nullptr) return *status = Unknown(spelling), next;
  if (option->given && !option->list) {
    *status = Status::InvalidArgument(spelling + " is given twice");
    return next;
  }
  option->given = true;
  const bool behind = next < arguments.size();
  if (equals != std::string::npos) {
    option->values.push_back(argument.substr(equals + 1));
  } else if (option->flag) {
    option->values.emplace_back("true");
  } else if (!option->choices.empty()) {
    const bool chosen =
        behind && std::find(option->choices.begin(), option->choices.end(), arguments[next]) != option->choices.end();
    option->values.push_back(chosen ? arguments[next++] : option->choices[0]);
  } else if (!option->alone.empty()) {
    const bool value = behind && !IsOption(arguments[next]) && !IsModelFile(arguments[next]);
    option->values.push_back(value ? arguments[next++] : option->alone);
  } else if (!behind || (IsOption(arguments[next]) && Find(arguments[next].substr(0, arguments[next].find('='))))) {
    *status = Status::InvalidArgument(spelling + " needs a value");
    return next;
  } else {
    option->values.push_back(arguments[next++]);
  }
  if (option->values.back().empty()) return *status = Status::InvalidArgument(spelling + " needs a value"), next;
  const bool words = option->word->values == Values::kWords;
  while (option->list && next < arguments.size() && (words || !IsOption(arguments[next])) &&
         ContinuesList(option->word->values, arguments[next])) {
    option->values.push_back(arguments[next++]);
  }
  return next;
}

Status CommandLine::Impl::Read(const std::vector<std::string>& arguments) {
  bool only_places = false;
  for (size_t i = 0; i < arguments.size();) {
    if (arguments[i] == "--" && !only_places) {
      only_places = true;
      ++i;
    } else if (only_places || !IsOption(arguments[i])) {
      positionals.push_back(arguments[i++]);
    } else {
      Status status = Status::Ok();
      i = ReadOption(arguments, i, &status);
      PLUMB_RETURN_IF_ERROR(status);
    }
  }
  if (positionals.size() > places.size()) {
    return Status::InvalidArgument(
        fmt::format("what is '{}'? {}", positionals[places.size()],
                    places.empty() ? name + " takes options only" : "too many words without an option"));
  }
  return Status::Ok();
}

// Hands the values over.
Status CommandLine::Impl::Store() {
  for (size_t i = 0; i < places.size(); ++i) {
    if (i < positionals.size()) {
      *places[i].value = positionals[i];
    } else if (places[i].required) {
      return Status::InvalidArgument(places[i].name + " is missing");
    }
  }
  for (const auto& option : options) {
    if (option->given && option->set) PLUMB_RETURN_IF_ERROR(option->set(option->values));
    if (!option->given && option->required) {
      return Status::InvalidArgument(fmt::format("{} is missing: {}", option->Short(), option->help));
    }
  }
  return Status::Ok();
}

void CommandLine::Impl::AddRule(const std::string& option_name, const std::vector<std::string>& others, bool only_with,
                                const std::string& why) {
  Rule rule{&Declared(option_name), {}, only_with, why};
  for (const std::string& other : others) rule.others.push_back(&Declared(other));
  rules.push_back(std::move(rule));
}

Status CommandLine::Impl::CheckRules() const {
  for (const Rule& rule : rules) {
    if (!rule.option->given) continue;
    std::string names;
    const Option* found = nullptr;
    for (const Option* other : rule.others) {
      if (other->given) found = other;
      names += (names.empty() ? "" : other == rule.others.back() ? " or " : ", ") + other->Short();
    }
    if (rule.only_with && found == nullptr) {
      return Status::InvalidArgument(fmt::format("{} does nothing without {}", rule.option->Short(), names));
    }
    if (!rule.only_with && found != nullptr) {
      return Status::InvalidArgument(
          fmt::format("{} does nothing with {}: {}", rule.option->Short(), found->Short(), rule.why));
    }
  }
  return Status::Ok();
}

Status CommandLine::Impl::CheckOutputs() const {
  std::vector<std::pair<std::string, std::string>> paths;  // option, path
  for (const auto& option : options) {
    if (!option->given || option->word->values != Values::kOutputFile) continue;
    for (const std::string& path : option->values) {
      for (const auto& [other, same] : paths) {
        if (same != path) continue;
        return Status::InvalidArgument(fmt::format("{} and {} would both write '{}'", other, option->Name(), path));
      }
      PLUMB_RETURN_IF_ERROR(CheckOutputFile(option->Name(), path));
      paths.emplace_back(option->Name(), path);
      if (path == "-") ReserveStandardOutput();
    }
  }
  return Status::Ok();
}

}  // namespace plumb
