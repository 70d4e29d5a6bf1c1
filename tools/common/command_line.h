// SPDX-License-Identifier: Apache-2.0
// The command line of every tool. Options are declared by their name in vocabulary.h, which knows every way to spell
// them; GNU's and gflags' styles mean the same (-mp x, --mp=x, -m=x). Lists take commas, spaces and repeats.
#ifndef PLUMB_TOOLS_COMMON_COMMAND_LINE_H_
#define PLUMB_TOOLS_COMMON_COMMAND_LINE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "plumb/status.h"

namespace plumb {

class CommandLine {
 public:
  struct Impl;  // command_line_impl.h

  // `examples` is shown at the end of --help; --version and --help are added.
  CommandLine(const std::string& name, const std::string& description, const std::string& examples);
  ~CommandLine();

  // `name` is a row of vocabulary.h: "--device". The default shown is the value at the time of the call. What the row
  // says of its values holds: those that are lists end up joined by commas in a string, or one by one in a vector.
  void Add(const std::string& name, std::string* value, const std::string& help);
  void Add(const std::string& name, int* value, const std::string& help);
  void Add(const std::string& name, uint64_t* value, const std::string& help);
  void Add(const std::string& name, double* value, const std::string& help);
  void Add(const std::string& name, std::vector<std::string>* values, const std::string& help);
  // One that may stand alone, which means `alone`; a model, an option or nothing behind it is none of its values.
  void AddOptional(const std::string& name, std::string* value, const std::string& alone, const std::string& help);
  void Flag(const std::string& name, bool* value, const std::string& help);
  // An option whose value is one of `words`.
  void OneOf(const std::string& name, std::string* value, const std::vector<std::string>& words,
             const std::string& help);
  // An option that stands alone, which means choices[0], or before one of `choices`.
  void Choice(const std::string& name, std::string* value, const std::vector<std::string>& choices,
              const std::string& help);
  // A value by its place, behind those declared before.
  void Positional(const std::string& name, std::string* value, const std::string& help, bool required);
  void Required(const std::string& name);  // of an option already added
  void Group(const std::string& title);    // of the options added from now on

  // What --help shows, a line each; all the rest waits for `--help all`. Without it --help shows everything.
  void Brief(const std::vector<std::pair<std::string, std::string>>& options);

  // An error when `name` is given and none of `others` is: it would do nothing.
  void OnlyWith(const std::string& name, const std::vector<std::string>& others);
  // An error when `name` is given and one of `others` is, too; `why` completes "--a does nothing with --b: ".
  void NotWith(const std::string& name, const std::vector<std::string>& others, const std::string& why);
  // Run by Parse when everything else is right.
  void Check(std::function<Status()> check);
  // From Parse on: whether the option stands on the command line.
  bool Given(const std::string& name) const;

  // Nothing: go on. Otherwise the tool is done (help, version, wrong usage; said already) with this exit code. Files
  // that are to be written are tried here (outputs.h), misspelt environment variables refused.
  std::optional<int> Parse(int argc, char** argv);
  // After Parse: the call as it may be typed again, the program as it was called, without some options (any of their
  // names).
  std::string Again(const std::vector<std::string>& without) const;
  // The same word by word, for a process of one's own.
  std::vector<std::string> Words(const std::vector<std::string>& without) const;

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace plumb

#endif  // PLUMB_TOOLS_COMMON_COMMAND_LINE_H_
