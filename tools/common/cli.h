// What every tool shares: the command line, exit codes, terminals, progress.
//
// Options are declared once, with their help; gflags style works beside GNU style (-mp x, --mp=x, -m=x): CLI11 would read
// `-mp` as `-m p`, so known multi-letter names behind one dash get their second dash before parsing.
#ifndef PLUMB_TOOLS_COMMON_CLI_H_
#define PLUMB_TOOLS_COMMON_CLI_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/exit_code.h"
#include "plumb/shape.h"
#include "plumb/status.h"

namespace plumb {

class CommandLine {
 public:
  // `examples` is shown at the end of --help; --version and --help are added.
  CommandLine(const std::string& name, const std::string& description, const std::string& examples);
  ~CommandLine();

  // names: "-m,--model"; several long names are aliases. The default shown is the value at the time of the call.
  void Add(const std::string& names, std::string* value, const std::string& help);
  void Add(const std::string& names, int* value, const std::string& help);
  void Add(const std::string& names, uint64_t* value, const std::string& help);
  void Add(const std::string& names, double* value, const std::string& help);
  void Add(const std::string& names, std::vector<std::string>* values, const std::string& help);  // may repeat
  void Flag(const std::string& names, bool* value, const std::string& help);
  // A positional argument.
  void Positional(const std::string& name, std::string* value, const std::string& help, bool required);
  void Required(const std::string& name);      // of an option already added
  void Group(const std::string& title);        // of the options added from now on

  // Nothing: go on. Otherwise the tool is done (help, version, wrong usage; said already) with this exit code.
  std::optional<int> Parse(int argc, char** argv);
  // After Parse: the call as it may be typed again, the program as it was called, without some options (any of their names).
  std::string Again(const std::vector<std::string>& without) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// "name=1,3,224,224" split at the last '='; TNN's "name[1,3,224,224]" is taken too.
Result<std::map<std::string, Shape>> ParseShapes(const std::vector<std::string>& texts);
// "a,b,c" -> values; InvalidArgument names the option.
Result<std::vector<double>> ParseNumbers(const std::string& option, const std::string& text);
// As a POSIX shell reads it back.
std::string ShellQuoted(const std::string& text);
std::vector<std::string> SplitList(const std::string& text, char separator = ',');

// "error: ..." on stderr (the code's name for internal failures); returns the exit code.
int Fail(const Status& status);

bool StdoutIsTerminal();
bool StderrIsTerminal();

// A one-line progress bar on stderr, shown only on a terminal and only after two seconds.
class Progress {
 public:
  Progress(std::string what, int64_t total, bool quiet);
  ~Progress();
  void Step(int64_t done, const std::string& detail);

 private:
  std::string what_;
  int64_t total_;
  bool enabled_;
  bool shown_ = false;
  double start_;
};

}  // namespace plumb

#endif  // PLUMB_TOOLS_COMMON_CLI_H_
