// SPDX-License-Identifier: Apache-2.0
#include "plumb/tool/terminal.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

#include "base/character.h"

namespace plumb {
namespace {

// Those of reports (check/report/text.cc, outcome.cc, session/diff_report.cc), and their end.
constexpr std::string_view kColors[] = {"\033[32m",   "\033[33m",   "\033[36m",   "\033[1;31m",
                                        "\033[1;32m", "\033[1;33m", "\033[1;36m", "\033[0m"};

constexpr std::string_view kAnew = "\r\033[K";

int data_output = STDOUT_FILENO;

std::string_view ColorAt(std::string_view text, size_t at) {
  for (const std::string_view color : kColors) {
    if (text.substr(at, color.size()) == color) return color;
  }
  return {};
}

bool Put(Terminal terminal, std::string_view bytes) {
  std::FILE* stream = terminal == Terminal::kOutput ? stdout : stderr;
  return std::fwrite(bytes.data(), 1, bytes.size(), stream) == bytes.size() && std::fflush(stream) == 0;
}

}  // namespace

std::string TerminalText(std::string_view text) {
  std::string shown;
  shown.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const std::string_view color = text[at] == '\033' ? ColorAt(text, at) : std::string_view();
    if (!color.empty()) {
      shown += color;
      at += color.size();
    } else if (text[at] == '\n') {
      shown += text[at++];
    } else {
      at = AddShown(text, at, &shown);
    }
  }
  return shown;
}

bool WriteTerminal(Terminal terminal, std::string_view text) { return Put(terminal, TerminalText(text)); }

void DrawTerminalLine(std::string_view text) {
  std::string line(kAnew);
  for (size_t at = 0; at < text.size();) at = AddShown(text, at, &line);
  Put(Terminal::kError, line);
}

void ReserveStandardOutput() {
  if (data_output != STDOUT_FILENO) return;
  std::fflush(stdout);
  const int kept = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (kept < 0) return;
  ::dup2(STDERR_FILENO, STDOUT_FILENO);
  data_output = kept;
}

Status WriteData(std::string_view bytes) {
  std::fflush(stdout);
  std::string shown;
  if (::isatty(data_output) == 1) bytes = shown = TerminalText(bytes);
  while (!bytes.empty()) {
    const ssize_t written = ::write(data_output, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return Status::IoError("standard output: " + std::generic_category().message(errno));
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return Status::Ok();
}

}  // namespace plumb
