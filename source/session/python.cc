// SPDX-License-Identifier: Apache-2.0
#include "session/python.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace plumb {

namespace fs = std::filesystem;

std::string PythonOf(const std::string& given) {
  if (!given.empty()) return given;
  const char* python = std::getenv("PLUMB_PYTHON");
  if (python != nullptr && *python != '\0') return python;
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  if (!error) {
    const fs::path package = self.parent_path().parent_path();
    const fs::path beside =
        package / (package.filename() == "plumbnn" ? "../../../../bin/python3" : "../venv/bin/python");
    if (fs::exists(beside, error)) return beside.lexically_normal().string();
  }
  return "python3";
}

}  // namespace plumb
