// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <cstdlib>
#include <optional>
#include <vector>

#include "plumb/tool/printing.h"
#include "plumb/tool/terminal.h"

namespace plumb {
namespace {

const std::vector<std::string> kLevelNames = {"debug", "info", "warn", "off"};

// What PLUMB_LOG says; nothing for what is no level.
std::optional<LogLevel> AskedLevel() {
  const char* value = std::getenv("PLUMB_LOG");
  if (value == nullptr || *value == 0) return LogLevel::kInfo;
  for (size_t i = 0; i < kLevelNames.size(); ++i) {
    if (kLevelNames[i] == value) return static_cast<LogLevel>(i);
  }
  return std::nullopt;
}

}  // namespace

bool Logs(LogLevel level) {
  static const LogLevel least = AskedLevel().value_or(LogLevel::kInfo);
  return level >= least && level != LogLevel::kOff;
}

void Log(LogLevel level, const std::string& text) {
  if (!Logs(level)) return;
  const char* label = level == LogLevel::kDebug  ? "plumb debug: "
                      : level == LogLevel::kWarn ? "plumb warning: "
                                                 : "plumb: ";
  WriteTerminal(Terminal::kError, label + PrintableLine(text) + "\n");
}

Status CheckLogEnvironment() {
  if (AskedLevel()) return Status::Ok();
  return Status::InvalidArgument(UnknownWord("PLUMB_LOG", std::getenv("PLUMB_LOG"), kLevelNames));
}

}  // namespace plumb
