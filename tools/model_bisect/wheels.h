// SPDX-License-Identifier: Apache-2.0
// --wheels: which version of a package brings a wrong verdict.
#ifndef PLUMB_TOOLS_MODEL_BISECT_WHEELS_H_
#define PLUMB_TOOLS_MODEL_BISECT_WHEELS_H_

#include <string>
#include <vector>

#include "common/cli.h"
#include "plumb/tool/bisect_wheels.h"

namespace plumb {

struct WheelOptions {
  std::string range, python = "python3";
  std::vector<std::string> with;

  void AddTo(CommandLine* command_line);
};

// What a shell runs where {environment} is the folder of an environment: the command with its programs first.
std::string InEnvironment(const std::string& command);

// `runner` has such a command. A note on stderr names an end of the range
// that pip does not find.
Result<VersionReport> RunVersions(const WheelOptions& options, const WheelRange& range, bool quiet,
                                  BisectRunner* runner);

}  // namespace plumb

#endif  // PLUMB_TOOLS_MODEL_BISECT_WHEELS_H_
