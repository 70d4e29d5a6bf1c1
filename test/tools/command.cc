// SPDX-License-Identifier: Apache-2.0
#include "tools/command.h"

#include <sys/wait.h>

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace plumb {

CommandResult RunTool(const std::string& tool, const std::string& arguments, const std::string& environment) {
  return RunCommand("env COLUMNS=400 " + environment + " " PLUMB_BIN_DIR "/" + tool + " " + arguments);
}

CommandResult RunCommand(const std::string& command_line) {
  const std::string command = command_line + " 2>&1 </dev/null";
  CommandResult result;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return result;
  char buffer[4096];
  size_t count;
  while ((count = fread(buffer, 1, sizeof(buffer), pipe)) > 0) result.out.append(buffer, count);
  const int status = pclose(pipe);
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

std::string TestFolder(const std::string& name) {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("plumb_" + name + "_" + std::to_string(getpid()));
  std::filesystem::remove_all(path);
  std::filesystem::create_directories(path);
  return path.string();
}

std::string ReadText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

void WriteText(const std::string& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

}  // namespace plumb
