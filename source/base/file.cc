// SPDX-License-Identifier: Apache-2.0
#include "base/file.h"

#include <fmt/core.h>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/block_pool.h"
#include "base/leftovers.h"
#include "base/memory_budget.h"

namespace plumb {
namespace {

constexpr size_t kLarge = size_t{1} << 20;  // below this a file is read at once
constexpr int kPipeSilence = 10000;         // milliseconds without a byte, then nobody writes to it any more

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

Status TooLarge(const std::string& path, uint64_t max_bytes) {
  return Status::InvalidArgument(fmt::format("file '{}' is larger than the limit of {} bytes", path, max_bytes));
}

Status ReadFailed(const std::string& path, int error) {
  return Status::IoError(fmt::format("cannot read '{}': {}", path, ErrnoText(error)));
}

Status Changed(const std::string& path) {
  return Status::IoError(
      fmt::format("'{}' was changed by another program while it was read; let that finish, then try again", path));
}

// The caller named it: what cannot be opened is the wrong name (exit code 2), unless the system itself is out of
// something.
Status OpenFailed(const std::string& path, int error) {
  const std::string message = fmt::format("cannot open '{}': {}", path, ErrnoText(error));
  if (error == ENOENT || error == ENOTDIR) return Status::NotFound(message);
  const bool system = error == EMFILE || error == ENFILE || error == ENOMEM || error == EIO;
  return system ? Status::IoError(message) : Status::InvalidArgument(message);
}

// Waits until a pipe has something, or its end. It was opened without blocking, so that one that nobody writes to
// cannot hold the program up.
Status AwaitPipe(int fd, const std::string& path) {
  pollfd waiting{fd, POLLIN, 0};
  const int ready = ::poll(&waiting, 1, kPipeSilence);
  if (ready > 0 || (ready < 0 && errno == EINTR)) return Status::Ok();
  return Status::InvalidArgument(
      fmt::format("cannot read '{}': nothing came out of the pipe for {} seconds", path, kPipeSilence / 1000));
}

// Reads to the end whatever the size that stat reported: pipes and files under /proc say 0, others may still grow.
Result<FileBytes> ReadToEnd(int fd, const std::string& path, size_t expected, uint64_t max_bytes) {
  size_t capacity = expected + 1;
  std::unique_ptr<void, decltype(&std::free)> memory(std::malloc(capacity), std::free);
  size_t size = 0;
  while (memory != nullptr) {
    const ssize_t got = ::read(fd, static_cast<char*>(memory.get()) + size, std::min(capacity - size, kMaxPerCall));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) {
      PLUMB_RETURN_IF_ERROR(AwaitPipe(fd, path));
      continue;
    }
    if (got < 0) return ReadFailed(path, errno);
    if (got == 0) return FileBytes(std::shared_ptr<void>(memory.release(), std::free), size);
    size += static_cast<size_t>(got);
    if (size > max_bytes) return TooLarge(path, max_bytes);
    if (size < capacity) continue;
    capacity = std::max<size_t>(capacity * 2, 4096);
    PLUMB_RETURN_IF_ERROR(CheckMemory(capacity, fmt::format("the bytes of '{}'", path)));
    void* grown = std::realloc(memory.get(), capacity);
    if (grown == nullptr) break;
    (void)memory.release();
    memory.reset(grown);
  }
  return Status::OutOfMemory(fmt::format("no memory to read '{}' ({} bytes)", path, capacity));
}

// `size` bytes from `begin` on. IoError: the file has them no more.
Status ReadPart(int fd, const std::string& path, uint64_t begin, size_t size, void* to) {
  for (size_t done = 0; done < size;) {
    const ssize_t got = ::pread(fd, static_cast<char*>(to) + done, std::min(size - done, kMaxPerCall),
                                static_cast<off_t>(begin + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ReadFailed(path, errno);
    if (got == 0) return Changed(path);
    done += static_cast<size_t>(got);
  }
  return Status::Ok();
}

Result<FileBytes> Block(const std::string& path, size_t size) {
  std::shared_ptr<void> memory = AllocateBlock(size);
  if (memory == nullptr) return NoMemory(size, fmt::format("the bytes of '{}'", path));
  return FileBytes(std::move(memory), size);
}

struct OpenedFile {
  std::unique_ptr<Descriptor> descriptor;
  struct stat info;
  size_t size = 0;  // of a regular file
};

Result<OpenedFile> OpenToRead(const std::string& path, uint64_t max_bytes) {
  OpenedFile file;
  file.descriptor = std::make_unique<Descriptor>(OpenRetrying(path, O_RDONLY | O_NONBLOCK | O_NOCTTY));
  if (file.descriptor->get() < 0) return OpenFailed(path, errno);
  if (::fstat(file.descriptor->get(), &file.info) != 0) return ReadFailed(path, errno);
  const mode_t mode = file.info.st_mode;
  if (S_ISDIR(mode)) return Status::InvalidArgument(fmt::format("'{}' is a folder, expected a file", path));
  if (S_ISCHR(mode) || S_ISBLK(mode)) {
    return Status::InvalidArgument(fmt::format("'{}' is a device, expected a file", path));
  }
  const uint64_t size = S_ISREG(mode) ? static_cast<uint64_t>(file.info.st_size) : 0;
  if (size > max_bytes) return TooLarge(path, max_bytes);
  file.size = static_cast<size_t>(size);
  return file;
}

}  // namespace

int OpenRetrying(const std::string& path, int flags, unsigned mode) {
  int fd;
  do {
    fd = ::open(path.c_str(), flags | O_CLOEXEC, mode);
  } while (fd < 0 && errno == EINTR);
  return fd;
}

std::string ErrnoText(int error) { return std::generic_category().message(error); }

struct FileSource::Origin {
  std::string path;
  struct stat info;
};

Status FileSource::Read(size_t begin, size_t size, void* to) const {
  if (origin_ == nullptr) {
    if (size > 0) std::memcpy(to, bytes_.data() + begin, size);
    return Status::Ok();
  }
  PLUMB_ASSIGN_OR_RETURN(const OpenedFile file, OpenToRead(origin_->path, UINT64_MAX));
  const struct stat &was = origin_->info, &is = file.info;
  const bool same = was.st_dev == is.st_dev && was.st_ino == is.st_ino && was.st_size == is.st_size &&
                    was.st_mtim.tv_sec == is.st_mtim.tv_sec && was.st_mtim.tv_nsec == is.st_mtim.tv_nsec;
  return same ? ReadPart(file.descriptor->get(), origin_->path, begin, size, to) : Changed(origin_->path);
}

Result<FileBytes> FileSource::Piece(size_t begin, size_t size) const {
  if (origin_ == nullptr) {
    const std::shared_ptr<void>& owner = bytes_.owner();
    return FileBytes(std::shared_ptr<void>(owner, static_cast<char*>(owner.get()) + begin), size);
  }
  PLUMB_ASSIGN_OR_RETURN(FileBytes piece, Block(origin_->path, size));
  PLUMB_RETURN_IF_ERROR(Read(begin, size, piece.owner().get()));
  return piece;
}

Result<FileBytes> ReadFile(const std::string& path, uint64_t max_bytes) {
  PLUMB_ASSIGN_OR_RETURN(const OpenedFile file, OpenToRead(path, max_bytes));
  if (file.size >= kLarge) {
    PLUMB_ASSIGN_OR_RETURN(FileBytes bytes, Block(path, file.size));
    PLUMB_RETURN_IF_ERROR(ReadPart(file.descriptor->get(), path, 0, file.size, bytes.owner().get()));
    return bytes;
  }
  return ReadToEnd(file.descriptor->get(), path, file.size, max_bytes);
}

Result<FileSource> OpenSource(const std::string& path, uint64_t max_bytes) {
  PLUMB_ASSIGN_OR_RETURN(const OpenedFile file, OpenToRead(path, max_bytes));
  if (file.size < kLarge) {
    PLUMB_ASSIGN_OR_RETURN(FileBytes bytes, ReadToEnd(file.descriptor->get(), path, file.size, max_bytes));
    return FileSource(std::move(bytes));
  }
  FileSource source{FileBytes()};
  source.size_ = file.size;
  source.origin_ = std::make_shared<FileSource::Origin>(FileSource::Origin{path, file.info});
  return source;
}

Result<WorkFolder> WorkFolder::Make(const std::string& name, const std::string& parent) {
  std::error_code error;
  const std::string where = parent.empty() ? std::filesystem::temp_directory_path(error).string() : parent;
  WorkFolder folder;
  std::string pattern = fmt::format("{}/{}-XXXXXX", where, name);
  if (::mkdtemp(pattern.data()) == nullptr) {
    return Status::IoError(fmt::format("cannot make a folder '{}/{}-...': {}", where, name, ErrnoText(errno)));
  }
  folder.path_ = pattern;
  KeepForRemoval(pattern);
  return folder;
}

WorkFolder::~WorkFolder() {
  std::error_code error;
  if (path_.empty()) return;
  std::filesystem::remove_all(path_, error);
  ForgetFolder(path_);
}

Result<std::string> ReadWholeFile(const std::string& path) {
  PLUMB_ASSIGN_OR_RETURN(const FileBytes bytes, ReadFile(path));
  return std::string(bytes.text());
}

}  // namespace plumb
