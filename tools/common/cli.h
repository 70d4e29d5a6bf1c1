// SPDX-License-Identifier: Apache-2.0
// What every tool shares: the command line, values of options, terminals, progress.
#ifndef PLUMB_TOOLS_COMMON_CLI_H_
#define PLUMB_TOOLS_COMMON_CLI_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/command_line.h"
#include "plumb/status.h"
#include "plumb/tensor.h"
#include "plumb/tool/exit_code.h"

namespace plumb {

// "name=1,3,224,224" split at the last '='; TNN's "name[1,3,224,224]" and "name:1,3,224,224" are taken too, and
// several with semicolons between them.
Result<std::map<std::string, Shape>> ParseShapes(const std::vector<std::string>& texts);
// "a,b,c" -> values; InvalidArgument names the option.
Result<std::vector<double>> ParseNumbers(const std::string& option, const std::string& text);
// "8G", "500M", "64K" (powers of 1024) or bytes; more than 0.
Result<uint64_t> ParseBytes(const std::string& option, const std::string& text);
// As a POSIX shell reads it back.
std::string ShellQuoted(const std::string& text);
std::vector<std::string> SplitList(const std::string& text, char separator = ',');

// main() of every tool: however it ends, with one sentence on stderr and an exit code of ours (guard.h). What the
// standard library throws when there is no memory is exit code 2.
int RunTool(int (*tool)(int argc, char** argv), int argc, char** argv);

// "error: ..." on stderr (the code's name for internal failures); returns the exit code.
int Fail(const Status& status);
// Of a tool whose last line says the same: nothing where that goes to the same place, a terminal or a file.
int FailBeforeLastLine(const Status& status);

bool StdoutIsTerminal();
bool StderrIsTerminal();

// A one-line progress bar on stderr after two seconds; where that is no terminal, a line every ten seconds.
class Progress {
 public:
  // `alike`: its parts take about the same time, so that the time left is told, too.
  Progress(std::string what, int64_t total, bool quiet, bool alike = false);
  ~Progress();
  void Step(int64_t done, const std::string& detail);
  // Takes the bar away; the next Step shows it again.
  void Clear();

 private:
  std::string TimeLeft(int64_t done) const;

  std::string what_;
  int64_t total_;
  bool enabled_;
  bool alike_;
  bool terminal_;
  bool shown_ = false;
  double start_, said_;
};

}  // namespace plumb

#endif  // PLUMB_TOOLS_COMMON_CLI_H_
