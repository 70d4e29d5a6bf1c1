#include "device/opencl/pocl_cache.h"

#include <fmt/core.h>

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
  constexpr char kAdvice[] =
      "; PoCL needs a folder for what it compiles: set HOME or POCL_CACHE_DIR to one that can be written";
  if (const std::string own = Value("POCL_CACHE_DIR"); !own.empty()) {
    return IsWritableFolder(own) ? ""
                                 : fmt::format("POCL_CACHE_DIR is '{}', where nothing can be written{}", own, kAdvice);
  }
  unsetenv("POCL_CACHE_DIR");  // set to nothing it makes PoCL abort
  std::string variable = "XDG_CACHE_HOME", folder = Value("XDG_CACHE_HOME");
  if (folder.empty()) variable = "HOME", folder = Value("HOME");
  if (folder.empty()) return "";  // /tmp
  if (IsWritableFolder(fmt::format("{}{}/pocl/kcache", folder, variable == "HOME" ? "/.cache" : ""))) return "";
  const std::string ours = CacheFolder() + "/pocl";
  if (!CacheFolder().empty() && IsWritableFolder(ours)) {
    setenv("POCL_CACHE_DIR", ours.c_str(), 1);
    return "";
  }
  return fmt::format("{} is '{}', where nothing can be written{}", variable, folder, kAdvice);
}

}  // namespace plumb::opencl
