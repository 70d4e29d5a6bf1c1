// SPDX-License-Identifier: Apache-2.0
// How a tool prints: --color, --verbose, --quiet and the width of what it prints on.
#ifndef PLUMB_TOOLS_COMMON_OUTPUT_OPTIONS_H_
#define PLUMB_TOOLS_COMMON_OUTPUT_OPTIONS_H_

#include <string>
#include <vector>

#include "common/cli.h"

namespace plumb {

struct OutputOptions {
  std::string color = "auto";
  bool verbose = false;
  bool quiet = false;

  // `quiet_help` says what is left with --quiet, `verbose_help` what -v adds; empty: the tool has none.
  void AddTo(CommandLine* command_line, const std::string& quiet_help, const std::string& verbose_help);
  // Of standard output: as --color says; auto: on a terminal that is not TERM=dumb, and not with NO_COLOR
  // (no-color.org).
  bool Colored() const;
};

// Of standard output: COLUMNS when it is exported, else the terminal's, else 100.
int OutputWidth();

// "note: ..." on stderr with -v.
void PrintNotes(const OutputOptions& output, const std::vector<std::string>& notes);

}  // namespace plumb

#endif  // PLUMB_TOOLS_COMMON_OUTPUT_OPTIONS_H_
