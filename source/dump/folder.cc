// SPDX-License-Identifier: Apache-2.0
#include "dump/folder.h"

#include <fmt/core.h>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <map>
#include <mutex>

#include "base/file.h"
#include "base/text.h"

namespace plumb {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxRuns = 100000;

struct Run {
  std::string root;
  int networks = 0;
};

Status Create(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) return Status::IoError(fmt::format("cannot create the dump folder '{}': {}", path, error.message()));
  return Status::Ok();
}

std::string MarkOf(const std::string& folder) { return fmt::format("{}/{}.part", folder, kManifestName); }

// Puts the mark into a folder, unless there is one.
Result<bool> Mark(const std::string& folder) {
  const int fd = ::open(MarkOf(folder).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (fd < 0 && errno == EEXIST) return false;
  if (fd < 0) return Status::IoError(fmt::format("cannot create '{}': {}", MarkOf(folder), ErrnoText(errno)));
  ::close(fd);
  return true;
}

// Whether this process is now the only one that writes there. The mark is the manifest under construction, so that a
// run that was killed leaves a folder that nobody mistakes for a whole dump, or mixes with another.
Result<bool> Claim(const std::string& folder) {
  PLUMB_RETURN_IF_ERROR(Create(folder));
  std::error_code error;
  if (fs::exists(fmt::format("{}/{}", folder, kManifestName), error) || IsCutOff(folder)) return false;
  return Mark(folder);
}

// "dump/" -> "dump", "." -> its real path, so that "-2" can be put behind it.
std::string WithoutTail(const std::string& folder) {
  fs::path path(folder);
  if (!path.has_filename()) path = path.parent_path();
  if (path.empty() || path.filename() == "." || path.filename() == "..") {
    std::error_code error;
    const fs::path real = fs::weakly_canonical(fs::absolute(folder.empty() ? "." : folder), error);
    if (!error) path = real;
  }
  return path.string();
}

Result<std::string> ClaimRoot(const std::string& folder) {
  for (int i = 1; i < kMaxRuns; ++i) {
    const std::string root = i == 1 ? folder : fmt::format("{}-{}", folder, i);
    PLUMB_ASSIGN_OR_RETURN(const bool claimed, Claim(root));
    if (claimed) return root;
  }
  return Status::IoError(
      fmt::format("'{}' and all folders up to '{}-{}' hold dumps already; remove some", folder, folder, kMaxRuns - 1));
}

}  // namespace

Result<NetworkFolder> TakeNetworkFolder(const std::string& folder) {
  static std::mutex* mutex = new std::mutex;
  static auto* runs = new std::map<std::string, Run>;  // by process and absolute path
  std::lock_guard<std::mutex> lock(*mutex);
  const std::string base = WithoutTail(folder);
  std::error_code error;
  // A forked child is a run of its own. A relative path of which nothing exists would stay relative and, once it
  // exists, be another key.
  const std::string key = fmt::format("{}:{}", ::getpid(), fs::weakly_canonical(fs::absolute(base), error).string());
  NetworkFolder result;
  Run& run = (*runs)[key];
  if (run.root.empty()) {
    PLUMB_ASSIGN_OR_RETURN(run.root, ClaimRoot(base));
    if (run.root != base)
      result.note = fmt::format("the dump goes to '{}', because '{}' holds a dump already", run.root, base);
  }
  result.network = ++run.networks;
  result.path = result.network == 1 ? run.root : fmt::format("{}/network-{}", run.root, result.network);
  PLUMB_RETURN_IF_ERROR(Create(result.path));
  if (result.network > 1) PLUMB_RETURN_IF_ERROR(Mark(result.path).status());
  return result;
}

Result<std::string> MakeForwardFolder(const std::string& network_folder, int forward, bool first) {
  char name[32];
  std::snprintf(name, sizeof(name), "/forward-%05d", forward);
  const std::string path = first ? network_folder : network_folder + name;
  PLUMB_RETURN_IF_ERROR(Create(path));
  if (!first) PLUMB_RETURN_IF_ERROR(Mark(path).status());
  return path;
}

void RemoveMark(const std::string& folder) { ::unlink(MarkOf(folder).c_str()); }

bool IsCutOff(const std::string& folder) {
  std::error_code error;
  if (fs::exists(fmt::format("{}/{}", folder, kManifestName), error)) return false;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (name.rfind(kManifestName, 0) == 0 && EndsWith(name, ".part")) return true;
  }
  return false;
}

}  // namespace plumb
