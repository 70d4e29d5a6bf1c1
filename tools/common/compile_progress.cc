// SPDX-License-Identifier: Apache-2.0
#include "common/compile_progress.h"

#include <fmt/core.h>

#include <chrono>
#include <cstdlib>

#include "common/cli.h"
#include "plumb/tool/terminal.h"

namespace plumb {

std::string CompilingLine(const Compiling& event, int done, double seconds, const std::string& home) {
  std::string folder = event.cache_folder;
  if (!home.empty() && folder.rfind(home + "/", 0) == 0) folder = "~" + folder.substr(home.size());
  const std::string often = folder.empty() ? "in every run, because no cache can be written"
                                           : fmt::format("once per machine (cached in {})", folder);
  return fmt::format("{} compiles kernels, {}: {}, {} done, {} s", event.device, often, event.what, done,
                     static_cast<int>(seconds));
}

void ShowCompiling() {
  if (!StderrIsTerminal()) return;
  using Clock = std::chrono::steady_clock;
  SetCompileListener([start = Clock::now(), done = 0](const Compiling& event) mutable {
    if (event.done) {
      ++done;
      DrawTerminalLine("");
      return;
    }
    if (done == 0) start = Clock::now();
    const char* home = std::getenv("HOME");
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    DrawTerminalLine(CompilingLine(event, done, seconds, home == nullptr ? "" : home));
  });
}

}  // namespace plumb
