// SPDX-License-Identifier: Apache-2.0
// The environments of a package's versions, which Python's venv and pip make.
#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/process.h"
#include "dump/checksum.h"
#include "plumb/tool/bisect_wheels.h"
#include "plumb/tool/file.h"

namespace plumb {
namespace {

// The first error that pip names, else the last line.
std::string WhatFailed(const ProcessResult& ended) {
  if (!ended.error.empty()) return ended.error;
  const std::string mark = "ERROR: ";
  std::string last = fmt::format("exit code {}", ended.exit_code);
  for (size_t begin = 0; begin < ended.out.size();) {
    const size_t end = std::min(ended.out.find('\n', begin), ended.out.size());
    const std::string line = ended.out.substr(begin, end - begin);
    if (line.rfind(mark, 0) == 0) return line.substr(mark.size());
    if (!line.empty()) last = line;
    begin = end + 1;
  }
  return last;
}

ProcessResult RunMerged(const std::vector<std::string>& words) {
  ProcessOptions options;
  options.merge = true;
  return RunProcess(words, options);
}

std::string EnvironmentsFolder() {
  const auto value = [](const char* name) {
    const char* text = std::getenv(name);
    return std::string(text == nullptr ? "" : text);
  };
  if (!value("PLUMB_CACHE_DIR").empty()) return value("PLUMB_CACHE_DIR") + "/wheels";
  if (!value("XDG_CACHE_HOME").empty()) return value("XDG_CACHE_HOME") + "/plumb/wheels";
  return value("HOME").empty() ? "" : value("HOME") + "/.cache/plumb/wheels";
}

bool Exists(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

}  // namespace

Result<WheelEnvironments> WheelEnvironments::Open(const std::string& python, const std::string& package,
                                                  const std::vector<std::string>& with) {
  WheelEnvironments made;
  made.python_ = python;
  made.package_ = package;
  made.with_ = with;
  made.root_ = EnvironmentsFolder();
  if (made.root_.empty())
    return Status::NotSupported("no folder for environments: set PLUMB_CACHE_DIR, XDG_CACHE_HOME or HOME");
  const ProcessResult version =
      RunMerged({python, "-c", "import sys; print('Python %d.%d' % sys.version_info[:2], end='')"});
  if (version.exit_code != 0)
    return Status::NotSupported(fmt::format("'{}' is no Python that runs here: {}", python, WhatFailed(version)));
  made.python_version_ = version.out;
  const ProcessResult pip = RunMerged({python, "-m", "pip", "--version"});
  if (pip.exit_code != 0)
    return Status::NotSupported(
        fmt::format("'{}' has no pip, which installs versions (Debian: python3-pip): {}", python, WhatFailed(pip)));
  return made;
}

Result<std::vector<std::string>> WheelEnvironments::Versions() const {
  const ProcessResult listed = RunMerged({python_, "-m", "pip", "index", "versions", package_});
  constexpr const char* kBegin = "Available versions: ";
  const size_t at = listed.out.find(kBegin);
  if (listed.exit_code != 0 || at == std::string::npos)
    return Status::NotFound(
        fmt::format("pip finds no package '{}' for {}; is the name right, and is there a network? {}", package_,
                    python_version_, WhatFailed(listed)));
  const size_t begin = at + std::string(kBegin).size();
  std::string text = listed.out.substr(begin, listed.out.find('\n', begin) - begin);
  std::vector<std::string> versions;
  for (size_t comma; !text.empty(); text.erase(0, comma == std::string::npos ? comma : comma + 2)) {
    comma = text.find(", ");
    versions.push_back(text.substr(0, comma));
  }
  return versions;
}

// One for each Python and each set of packages beside it.
std::string WheelEnvironments::FolderOf(const std::string& version) const {
  Checksum checksum;
  checksum.Add(python_.data(), python_.size() + 1);
  checksum.Add(python_version_.data(), python_version_.size() + 1);
  for (const std::string& one : with_) checksum.Add(one.data(), one.size() + 1);
  return fmt::format("{}/{}-{}-{}", root_, package_, version, checksum.Text());
}

Result<std::string> WheelEnvironments::Make(const std::string& version) const {
  const std::string folder = FolderOf(version), ready = folder + "/ready";
  if (Exists(ready)) return folder;
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return Status::IoError(fmt::format("folder '{}' cannot be made: {}", folder, error.message()));
  // Without pip in it: the Python that makes it installs into it.
  const ProcessResult made = RunMerged({python_, "-m", "venv", "--without-pip", "--clear", folder});
  if (made.exit_code != 0)
    return Status::NotSupported(fmt::format("'{}' cannot make an environment in '{}' (Debian: python3-venv): {}",
                                            python_, folder, WhatFailed(made)));
  std::vector<std::string> words = {python_,
                                    "-m",
                                    "pip",
                                    "--python",
                                    folder + "/bin/python3",
                                    "install",
                                    "-q",
                                    "--no-input",
                                    package_ + "==" + version};
  words.insert(words.end(), with_.begin(), with_.end());
  const ProcessResult installed = RunMerged(words);
  if (installed.exit_code != 0)
    return Status::InvalidArgument(fmt::format("pip cannot install it: {}", WhatFailed(installed)));
  PLUMB_RETURN_IF_ERROR(WriteFile(ready, ""));
  return folder;
}

}  // namespace plumb
