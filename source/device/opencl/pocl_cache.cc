#include "device/opencl/pocl_cache.h"

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
    return IsWritableFolder(own) ? "" : "POCL_CACHE_DIR is '" + own + "', where nothing can be written" + kAdvice;
  }
  unsetenv("POCL_CACHE_DIR");  // set to nothing it makes PoCL abort
  std::string variable = "XDG_CACHE_HOME", folder = Value("XDG_CACHE_HOME");
  if (folder.empty()) variable = "HOME", folder = Value("HOME");
  if (folder.empty()) return "";  // /tmp
  if (IsWritableFolder(folder + (variable == "HOME" ? "/.cache" : "") + "/pocl/kcache")) return "";
  const std::string ours = CacheFolder() + "/pocl";
  if (!CacheFolder().empty() && IsWritableFolder(ours)) {
    setenv("POCL_CACHE_DIR", ours.c_str(), 1);
    return "";
  }
  return variable + " is '" + folder + "', where nothing can be written" + kAdvice;
}

}  // namespace plumb::opencl
