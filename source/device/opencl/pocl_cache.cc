// SPDX-License-Identifier: Apache-2.0
#include "device/opencl/pocl_cache.h"

#include <fmt/core.h>

#include <unistd.h>

#include <cstdlib>

#include "device/shared/program_cache.h"

namespace plumb::opencl {
namespace {

std::string Value(const char* variable) {
  const char* value = std::getenv(variable);
  return value == nullptr ? "" : value;
}

}  // namespace

std::string PreparePoclCache() {
  constexpr const char* kOwn = "POCL_CACHE_DIR";
  std::string variable = kOwn, folder = Value(kOwn), within;
  if (folder.empty()) variable = "XDG_CACHE_HOME", folder = Value("XDG_CACHE_HOME"), within = "/pocl/kcache";
  if (folder.empty()) variable = "HOME", folder = Value("HOME"), within = "/.cache/pocl/kcache";
  if (variable != kOwn) unsetenv(kOwn);  // set to nothing it makes PoCL abort
  // Without a home PoCL takes a folder of /tmp that is everybody's.
  if (!folder.empty() && IsOwnFolder(folder + within)) return "";
  const std::string cache = CacheFolder(), ours = cache + "/pocl";
  if (!cache.empty() && IsOwnFolder(ours)) {
    setenv(kOwn, ours.c_str(), 1);
    return "";
  }
  const bool foreign = ::access((folder + within).c_str(), W_OK) == 0;
  return fmt::format(
      "{} is '{}', where {}; PoCL needs a folder for what it compiles: set HOME or POCL_CACHE_DIR to one "
      "that can be written{}",
      variable, folder, foreign ? "others may write, too" : "nothing can be written", foreign ? " by you alone" : "");
}

}  // namespace plumb::opencl
