// SPDX-License-Identifier: Apache-2.0
#include "common/output_options.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "common/option_words.h"
#include "common/print.h"
#include "plumb/tool/printing.h"

namespace plumb {
namespace {

constexpr int kMinWidth = 40, kMaxWidth = 1000, kWidthWithoutTerminal = 100;

bool IsSet(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && value[0] != '\0';
}

}  // namespace

void OutputOptions::AddTo(CommandLine* c, const std::string& quiet_help, const std::string& verbose_help) {
  c->Group("Report");
  c->OneOf("--color", &color, {"auto", "always", "never"},
           "auto (on a terminal, unless NO_COLOR is set), always or never");
  if (!verbose_help.empty()) c->Flag("--verbose", &verbose, verbose_help);
  if (!quiet_help.empty()) c->Flag("--quiet", &quiet, quiet_help);
}

bool OutputOptions::Colored() const {
  if (color != "auto") return color == "always";
  const char* term = std::getenv("TERM");
  return StdoutIsTerminal() && !IsSet("NO_COLOR") && (term == nullptr || std::string(term) != "dumb");
}

int OutputWidth() {
  const char* columns = std::getenv("COLUMNS");
  const int exported = columns == nullptr ? 0 : std::atoi(columns);
  if (exported > 0) return std::clamp(exported, kMinWidth, kMaxWidth);
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    return std::clamp<int>(size.ws_col, kMinWidth, kMaxWidth);
  return kWidthWithoutTerminal;
}

void PrintNotes(const OutputOptions& output, const std::vector<std::string>& notes) {
  if (!output.verbose) return;
  for (const std::string& note : notes) PrintError("note: {}\n", PrintableLine(InOptionWords(note)));
}

}  // namespace plumb
