// SPDX-License-Identifier: Apache-2.0
// The exit codes of every tool (design.md): 0 aligned or done, 1 misaligned or nothing compared, 2 bad usage or input,
// 3 device not available, 4 internal or device failure.
#ifndef PLUMB_TOOL_EXIT_CODE_H_
#define PLUMB_TOOL_EXIT_CODE_H_

#include "plumb/status.h"

namespace plumb {

enum ExitCode { kExitOk = 0, kExitMisaligned = 1, kExitUsage = 2, kExitNoDevice = 3, kExitFailure = 4 };

// The exit code that a Status stands for; 0 when OK.
int ExitCodeOf(const Status& status);
// The same where the Status says why a device could not be opened: one that is not there is kExitNoDevice.
int ExitCodeOfDevice(const Status& status);
// The most severe of two: 4 > 2 > 1 > 3 > 0.
int WorseExit(int a, int b);

}  // namespace plumb

#endif  // PLUMB_TOOL_EXIT_CODE_H_
