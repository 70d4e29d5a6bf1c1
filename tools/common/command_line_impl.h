// SPDX-License-Identifier: Apache-2.0
// What CommandLine is made of, for its four files: command_line.cc (declaring), command_line_read.cc,
// command_line_help.cc, command_line_generate.cc.
#ifndef PLUMB_TOOLS_COMMON_COMMAND_LINE_IMPL_H_
#define PLUMB_TOOLS_COMMON_COMMAND_LINE_IMPL_H_

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/command_line.h"
#include "common/vocabulary.h"

namespace plumb {

struct CommandLine::Impl {
  std::string max_memory, help = "short";
  struct Option {
    const Word* word;
    std::string group, help, shown_default;
    bool flag = false, list = false, required = false;
    std::vector<std::string> choices;  // of one that may stand alone
    std::string alone;                 // of one that takes any value, or none
    std::function<Status(const std::vector<std::string>&)> set;
    std::vector<std::string> values;
    bool given = false;
    std::vector<std::string> words;  // all that it may be, where that is a list

    std::string Name() const { return "--" + word->name; }
    // As short as it can be typed.
    std::string Short() const { return word->letter.empty() ? Name() : "-" + word->letter; }
  };

  struct Place {
    std::string name, help;
    std::string* value;
    bool required;
  };

  struct Rule {
    const Option* option;
    std::vector<const Option*> others;
    bool only_with;  // else: not with
    std::string why;
  };

  std::string name, description, examples;
  std::string program;  // as it was called
  std::string group = "Options";
  std::vector<std::unique_ptr<Option>> options;
  std::vector<Place> places;
  std::vector<std::string> positionals;
  std::vector<Rule> rules;
  std::vector<std::function<Status()>> checks;
  std::vector<std::pair<const Option*, std::string>> brief;  // of --help

  Option* Find(std::string_view spelling) const;
  Option& Declared(std::string_view spelling) const;  // REQUIRES: the tool has it
  Option* Declare(const std::string& name, const std::string& help);
  Status Unknown(const std::string& name) const;
  Status Read(const std::vector<std::string>& arguments);
  size_t ReadOption(const std::vector<std::string>& arguments, size_t at, Status* status);
  Status Store();
  void AddRule(const std::string& name, const std::vector<std::string>& others, bool only_with, const std::string& why);
  Status CheckRules() const;
  Status CheckOutputs() const;
  std::string Help() const;
  std::string ShortHelp() const;
  std::string Usage() const;
  std::string HelpOf(const Option& option) const;
  std::string ManPage() const;
  std::string BashCompletion() const;
  std::string ZshCompletion() const;
  std::string FishCompletion() const;
  int Generate(const std::string& folder) const;
};

}  // namespace plumb

#endif  // PLUMB_TOOLS_COMMON_COMMAND_LINE_IMPL_H_
