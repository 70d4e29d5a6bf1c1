#include "base/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <cstdlib>
#include <optional>
#include <vector>

#include "plumb/printing.h"

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

// Not in spdlog's registry: a program that uses spdlog itself keeps its own loggers and settings.
spdlog::logger& Logger() {
  static spdlog::logger* logger = [] {
    auto* made = new spdlog::logger("plumb", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_pattern("%v");
    made->set_level(spdlog::level::trace);  // Logs decides
    return made;
  }();
  return *logger;
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
  Logger().log(spdlog::level::info, "{}{}", label, PrintableLine(text));
}

Status CheckLogEnvironment() {
  if (AskedLevel()) return Status::Ok();
  return Status::InvalidArgument(UnknownWord("PLUMB_LOG", std::getenv("PLUMB_LOG"), kLevelNames));
}

}  // namespace plumb
