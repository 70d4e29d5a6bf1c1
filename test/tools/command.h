// SPDX-License-Identifier: Apache-2.0
// Runs a tool of this build through its real command line.
#ifndef PLUMB_TEST_TOOLS_COMMAND_H_
#define PLUMB_TEST_TOOLS_COMMAND_H_

#include <string>

namespace plumb {

struct CommandResult {
  int exit_code = -1;
  std::string out;  // stdout and stderr together
};

// `arguments` is a shell command line behind the tool's name; `environment` like "A=1 B=2"; COLUMNS is
// 400 without it, so that sentences stay on one line.
CommandResult RunTool(const std::string& tool, const std::string& arguments, const std::string& environment = "");

// Any command line of a shell; the same result.
CommandResult RunCommand(const std::string& command_line);

// A fresh folder of this test, removed and made anew.
std::string TestFolder(const std::string& name);

std::string ReadText(const std::string& path);
void WriteText(const std::string& path, const std::string& text);

}  // namespace plumb

#endif  // PLUMB_TEST_TOOLS_COMMAND_H_
