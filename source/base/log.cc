#include "base/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include "plumb/printing.h"

namespace plumb {
namespace {

// Not in spdlog's registry: a program that uses spdlog itself keeps its own loggers and settings.
spdlog::logger& Logger() {
  static spdlog::logger* logger = [] {
    auto* made = new spdlog::logger("plumb", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_pattern("plumb: %v");
    return made;
  }();
  return *logger;
}

}  // namespace

void LogNote(const std::string& text) { Logger().info("{}", PrintableLine(text)); }

}  // namespace plumb
