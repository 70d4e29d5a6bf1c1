// SPDX-License-Identifier: Apache-2.0
#include "common/outputs.h"

#include <fmt/core.h>

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "plumb/plumb.h"
#include "plumb/stage.h"
#include "plumb/tool/file.h"
#include "plumb/tool/terminal.h"

namespace plumb {
namespace {

// The operating system's text for what just failed.
std::string ErrorText() { return std::generic_category().message(errno); }

std::string FolderOf(const std::string& path) {
  const size_t slash = path.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

Status CheckParent(const std::string& wrong, const std::string& path) {
  const std::string folder = FolderOf(path);
  struct stat info;
  if (::stat(folder.c_str(), &info) != 0) {
    return Status::InvalidArgument(fmt::format("{}: folder '{}': {}", wrong, folder, ErrorText()));
  }
  if (!S_ISDIR(info.st_mode)) return Status::InvalidArgument(fmt::format("{}: '{}' is no folder", wrong, folder));
  if (::access(folder.c_str(), W_OK | X_OK) == 0) return Status::Ok();
  return Status::InvalidArgument(fmt::format("{}: folder '{}': {}", wrong, folder, ErrorText()));
}

}  // namespace

Status CheckOutputFile(const std::string& option, const std::string& path) {
  if (path == "-") return Status::Ok();
  const std::string wrong = fmt::format("{}: cannot write '{}'", option, path);
  if (path.empty()) return Status::InvalidArgument(option + ": expected a file to write, found nothing");
  struct stat info;
  if (::stat(path.c_str(), &info) == 0) {
    if (S_ISDIR(info.st_mode)) return Status::InvalidArgument(wrong + ": it is a folder");
    if (::access(path.c_str(), W_OK) != 0) return Status::InvalidArgument(fmt::format("{}: {}", wrong, ErrorText()));
    if (!S_ISREG(info.st_mode)) return Status::Ok();  // a pipe or /dev/stdout is written in place
  } else if (errno != ENOENT) {
    return Status::InvalidArgument(fmt::format("{}: {}", wrong, ErrorText()));
  }
  if (path.back() == '/') return Status::InvalidArgument(wrong + ": a file's name is missing behind the last '/'");
  PLUMB_RETURN_IF_ERROR(CheckParent(wrong, path));
  const Status tried = TryWriteFile(path);
  return tried.ok() ? tried : Status::InvalidArgument(fmt::format("{}: {}", option, tried.message()));
}

Status CheckOutputFolder(const std::string& option, const std::string& path) {
  const std::string wrong = fmt::format("{}: cannot write into '{}'", option, path);
  struct stat info;
  if (::stat(path.c_str(), &info) != 0) {
    if (errno != ENOENT) return Status::InvalidArgument(fmt::format("{}: {}", wrong, ErrorText()));
    const size_t end = path.find_last_not_of('/');
    return CheckParent(wrong, path.substr(0, end == std::string::npos ? end : end + 1));
  }
  if (!S_ISDIR(info.st_mode)) return Status::InvalidArgument(wrong + ": it is no folder");
  if (::access(path.c_str(), W_OK | X_OK) == 0) return Status::Ok();
  return Status::InvalidArgument(fmt::format("{}: {}", wrong, ErrorText()));
}

Status WriteOutput(const std::string& path, std::string_view bytes) {
  return path == "-" ? WriteData(bytes) : WriteFile(path, bytes);
}

Status WriteOutputStages(const Network& network) {
  if (!StagesWanted()) return Status::Ok();
  StageInfo info;
  info.kind = "model";
  info.library = std::string("Plumb ") + Version();
  for (const std::string& name : network.graph().outputs) {
    PLUMB_ASSIGN_OR_RETURN(const Tensor value, network.ViewOutput(name));
    PLUMB_RETURN_IF_ERROR(Stage("output " + name, value, info));
  }
  return Status::Ok();
}

}  // namespace plumb
