// SPDX-License-Identifier: Apache-2.0
// What the library itself tells the user, on standard error, each as one line. Everything that is wrong is a Status;
// this is for what is right and should still be known (where a dump went), and, with PLUMB_LOG=debug, for what was
// decided on the way: drivers, kernels and their refusals, program caches, pairings. Tools print their reports
// themselves. Threading: from any thread.
#ifndef PLUMB_BASE_LOG_H_
#define PLUMB_BASE_LOG_H_

#include <string>

#include "plumb/status.h"

namespace plumb {

enum class LogLevel { kDebug, kInfo, kWarn, kOff };

// Whether such lines are said: those of PLUMB_LOG and above, kInfo where it is not set. For texts that cost something.
bool Logs(LogLevel level);

// "plumb: <text>", "plumb debug: <text>", "plumb warning: <text>". Names in the text are made safe for a terminal.
void Log(LogLevel level, const std::string& text);

// InvalidArgument where PLUMB_LOG is no level.
Status CheckLogEnvironment();

}  // namespace plumb

#endif  // PLUMB_BASE_LOG_H_
