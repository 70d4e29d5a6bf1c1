// SPDX-License-Identifier: Apache-2.0
// Files that are complete or not there.
#include <fmt/core.h>

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <utility>

#include "base/file.h"
#include "base/leftovers.h"

namespace plumb {
namespace {

// The .part files of this process, for RemoveUnfinishedFiles. A file beyond the table's size is only not removed there.
std::array<std::atomic<char*>, 64> unfinished{};
std::mutex unfinished_mutex;  // a signal handler only takes entries out

// Between a file's beginning and its place in the table, and whether the program ends, so that no more shall begin.
std::atomic<int> beginning{0};
std::atomic<bool> ending{false};

struct Beginning {
  Beginning() { ++beginning; }
  Beginning(const Beginning&) = delete;
  Beginning& operator=(const Beginning&) = delete;
  ~Beginning() { --beginning; }
};

void NoteUnfinished(const std::string& path) {
  char* const copy = ::strdup(path.c_str());
  std::lock_guard<std::mutex> lock(unfinished_mutex);
  for (std::atomic<char*>& one : unfinished) {
    char* empty = nullptr;
    if (copy != nullptr && one.compare_exchange_strong(empty, copy)) return;
  }
  std::free(copy);
}

void ForgetUnfinished(const std::string& path) {
  std::lock_guard<std::mutex> lock(unfinished_mutex);
  for (std::atomic<char*>& one : unfinished) {
    char* mine = one.load();
    if (mine != nullptr && path == mine && one.compare_exchange_strong(mine, nullptr)) std::free(mine);
  }
}

// Six characters, others at each call of all processes.
std::string UniqueLetters() {
  constexpr char kLetters[] = "0123456789abcdefghijklmnopqrstuvwxyz";
  static std::atomic<uint64_t> calls{0};
  uint64_t mixed = static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  for (const uint64_t part : {static_cast<uint64_t>(::getpid()), calls.fetch_add(1)}) {
    mixed = (mixed ^ part) * 0x9E3779B97F4A7C15u;
    mixed ^= mixed >> 31;
  }
  std::string letters;
  for (int i = 0; i < 6; ++i, mixed /= sizeof(kLetters) - 1) letters += kLetters[mixed % (sizeof(kLetters) - 1)];
  return letters;
}

// A new file beside `path`, noted above: what lies there already (a link, another run's file) is never opened. The name
// in *part; less than zero: errno says why.
int CreatePart(const std::string& path, std::string* part) {
  constexpr int kTries = 100;
  constexpr size_t kMaxName = 255, kAdded = sizeof(".k3v9x0.part") - 1;
  const size_t name = path.find_last_of('/') + 1;
  const std::string shown = path.substr(0, name + std::min(path.size() - name, kMaxName - kAdded));
  const Beginning here;
  int fd = -1;
  for (int i = 0; i < kTries && fd < 0; ++i) {
    *part = fmt::format("{}.{}.part", shown, UniqueLetters());
    errno = EINTR;
    if (!ending) fd = OpenRetrying(*part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0666);
    if (fd < 0 && errno != EEXIST) return fd;
  }
  if (fd >= 0) NoteUnfinished(*part);
  return fd;
}

}  // namespace

AtomicFile::AtomicFile(std::string path, std::string written_path, int fd)
    : path_(std::move(path)), written_path_(std::move(written_path)), fd_(fd) {}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept { *this = std::move(other); }

AtomicFile& AtomicFile::operator=(AtomicFile&& other) noexcept {
  if (this == &other) return *this;
  Discard();
  path_ = std::move(other.path_);
  written_path_ = std::move(other.written_path_);
  fd_ = std::exchange(other.fd_, -1);
  bytes_written_ = other.bytes_written_;
  max_bytes_ = other.max_bytes_;
  failed_ = other.failed_;
  return *this;
}

AtomicFile::~AtomicFile() { Discard(); }

Result<AtomicFile> AtomicFile::Create(std::string path) {
  struct stat info;
  const bool special = ::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode);
  if (special && S_ISDIR(info.st_mode)) {
    return Status::InvalidArgument(fmt::format("cannot write '{}': it is a folder", path));
  }
  if (special) {
    const int fd = OpenRetrying(path, O_WRONLY | O_NOCTTY);
    if (fd < 0) return Status::IoError(fmt::format("cannot open '{}' for writing: {}", path, ErrnoText(errno)));
    return AtomicFile(path, path, fd);
  }
  std::string part;
  const int fd = CreatePart(path, &part);
  if (fd < 0) return Status::IoError(fmt::format("cannot create '{}': {}", part, ErrnoText(errno)));
  AtomicFile file(std::move(path), std::move(part), fd);
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) file.max_bytes_ = limit.rlim_cur;
  return file;
}

Status AtomicFile::Write(const void* data, size_t size) {
  if (fd_ < 0 || failed_)
    return Status::IoError(fmt::format("'{}' is not open for writing, or an earlier write failed", path_));
  if (size > max_bytes_ || bytes_written_ > max_bytes_ - size) return Fail("write", EFBIG);
  const char* next = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t written = ::write(fd_, next, std::min(size, kMaxPerCall));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return Fail("write", errno);
    next += written;
    size -= static_cast<size_t>(written);
    bytes_written_ += static_cast<uint64_t>(written);
  }
  return Status::Ok();
}

Status AtomicFile::Commit(bool sync) {
  if (fd_ < 0 || failed_) {
    Discard();
    return Status::IoError(
        fmt::format("'{}' was not written: an earlier write failed, or it is committed already", path_));
  }
  if (sync && ::fsync(fd_) != 0 && errno != EINVAL && errno != ENOTSUP) {  // EINVAL: a pipe has nothing to sync
    const Status status = Fail("sync", errno);
    Discard();
    return status;
  }
  // Network file systems report a full disk here.
  if (::close(std::exchange(fd_, -1)) != 0 && errno != EINTR) {
    const Status status = Fail("close", errno);
    RemovePart();
    return status;
  }
  if (written_path_ == path_) return Status::Ok();
  if (::rename(written_path_.c_str(), path_.c_str()) != 0) {
    const Status status = Fail("rename", errno);
    RemovePart();
    return status;
  }
  ForgetUnfinished(written_path_);
  return Status::Ok();
}

Status AtomicFile::Fail(const char* what, int error) {
  failed_ = true;
  return Status::IoError(
      fmt::format("cannot {} '{}' after {} bytes: {}", what, written_path_, bytes_written_, ErrnoText(error)));
}

void AtomicFile::Discard() {
  if (fd_ < 0) return;
  ::close(std::exchange(fd_, -1));
  RemovePart();
}

void AtomicFile::RemovePart() {
  if (written_path_ == path_) return;
  ::unlink(written_path_.c_str());
  ForgetUnfinished(written_path_);
}

FolderLock::FolderLock(const std::string& folder)
    : fd_(OpenRetrying(folder.empty() ? "." : folder, O_RDONLY | O_DIRECTORY)) {
  constexpr int kTries = 1000, kPause = 10;  // milliseconds
  for (int i = 0; fd_ >= 0 && i < kTries; ++i) {
    if (::flock(fd_, LOCK_EX | LOCK_NB) == 0 || (errno != EWOULDBLOCK && errno != EINTR)) return;
    ::poll(nullptr, 0, kPause);
  }
}

FolderLock::~FolderLock() {
  if (fd_ >= 0) ::close(fd_);
}

void RemoveUnfinishedFiles() {
  constexpr int kWait = 50;  // milliseconds, at most: it may be this thread that was interrupted there
  ending = true;
  for (int i = 0; i < kWait && beginning > 0; ++i) ::poll(nullptr, 0, 1);
  for (std::atomic<char*>& one : unfinished) {
    if (char* const path = one.exchange(nullptr)) ::unlink(path);
  }
  EndLeftovers();
}

Status WriteFile(const std::string& path, std::string_view bytes) {
  PLUMB_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path));
  PLUMB_RETURN_IF_ERROR(file.Write(bytes));
  return file.Commit();
}

Status TryWriteFile(const std::string& path) { return AtomicFile::Create(path).status(); }

}  // namespace plumb
