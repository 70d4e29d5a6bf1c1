// SPDX-License-Identifier: Apache-2.0
// Which program is right for a machine: found beside this build or in a folder, and looked at before it is pushed.
#ifndef PLUMB_TOOLS_DEVICE_CHECK_BINARIES_H_
#define PLUMB_TOOLS_DEVICE_CHECK_BINARIES_H_

#include <string>

#include "plumb/status.h"

namespace plumb {

struct BinaryQuestion {
  std::string tool;          // "model_check"
  std::string folder;        // --binaries, or empty
  std::string architecture;  // of the machine, as uname -m says it
  std::string machine;       // for sentences: "adb X"
  bool runner = false;       // an emulator will run it: any architecture will do
};

// The program's path. InvalidArgument: it is not there, is no program, or is another architecture's; what to do is
// said.
Result<std::string> FindBinary(const BinaryQuestion& question);

// The libplumb.so that a program of FindBinary is linked with, beside it or where an installation has it; empty for a
// static program, and where it is found nowhere: then the machine may have it.
std::string LibraryOf(const std::string& program);

}  // namespace plumb

#endif  // PLUMB_TOOLS_DEVICE_CHECK_BINARIES_H_
