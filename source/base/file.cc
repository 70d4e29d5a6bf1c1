#include "base/file.h"

#include <fmt/core.h>

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/memory_budget.h"

namespace plumb {
namespace {

constexpr size_t kMapFrom = size_t{1} << 20;     // below this a read() is cheaper than page faults
constexpr int kPipeSilence = 10000;              // milliseconds without a byte, then nobody writes to it any more
constexpr size_t kMaxPerCall = size_t{1} << 30;  // the kernel moves at most 0x7ffff000 bytes per call

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

int OpenRetrying(const std::string& path, int flags, mode_t mode = 0) {
  int fd;
  do {
    fd = ::open(path.c_str(), flags | O_CLOEXEC, mode);
  } while (fd < 0 && errno == EINTR);
  return fd;
}

Status TooLarge(const std::string& path, uint64_t max_bytes) {
  return Status::InvalidArgument(fmt::format("file '{}' is larger than the limit of {} bytes", path, max_bytes));
}

Status ReadFailed(const std::string& path, int error) {
  return Status::IoError(fmt::format("cannot read '{}': {}", path, ErrnoText(error)));
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
    if (got == 0) return FileBytes(std::shared_ptr<void>(memory.release(), std::free), size, false);
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

Result<FileBytes> MapFile(int fd, const std::string& path, size_t size) {
  void* memory = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (memory == MAP_FAILED) return Status::IoError(fmt::format("cannot map '{}': {}", path, ErrnoText(errno)));
  ::madvise(memory, size, MADV_SEQUENTIAL);
  return FileBytes(std::shared_ptr<void>(memory, [size](void* address) { ::munmap(address, size); }), size, true);
}

}  // namespace

std::string ErrnoText(int error) { return std::generic_category().message(error); }

void FileBytes::Drop(size_t begin, size_t end) const {
  const size_t page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const size_t from = begin / page * page;
  const size_t to = std::min(end, size_) / page * page;
  if (mapped_ && from < to) ::madvise(static_cast<char*>(owner_.get()) + from, to - from, MADV_DONTNEED);
}

Result<FileBytes> ReadFile(const std::string& path, uint64_t max_bytes) {
  const Descriptor file(OpenRetrying(path, O_RDONLY | O_NONBLOCK | O_NOCTTY));
  if (file.get() < 0) return OpenFailed(path, errno);
  struct stat info;
  if (::fstat(file.get(), &info) != 0) return ReadFailed(path, errno);
  if (S_ISDIR(info.st_mode)) return Status::InvalidArgument(fmt::format("'{}' is a folder, expected a file", path));
  if (S_ISCHR(info.st_mode) || S_ISBLK(info.st_mode)) {
    return Status::InvalidArgument(fmt::format("'{}' is a device, expected a file", path));
  }
  const uint64_t size = S_ISREG(info.st_mode) ? static_cast<uint64_t>(info.st_size) : 0;
  if (size > max_bytes) return TooLarge(path, max_bytes);
  if (size >= kMapFrom) return MapFile(file.get(), path, static_cast<size_t>(size));
  return ReadToEnd(file.get(), path, static_cast<size_t>(size), max_bytes);
}

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
  std::string written_path = special ? path : path + ".part";
  const int fd = OpenRetrying(written_path, special ? O_WRONLY : O_WRONLY | O_CREAT | O_TRUNC, 0666);
  if (fd < 0) return Status::IoError(fmt::format("cannot create '{}': {}", written_path, ErrnoText(errno)));
  return AtomicFile(std::move(path), std::move(written_path), fd);
}

Status AtomicFile::Write(const void* data, size_t size) {
  if (fd_ < 0 || failed_)
    return Status::IoError(fmt::format("'{}' is not open for writing, or an earlier write failed", path_));
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
    if (written_path_ != path_) ::unlink(written_path_.c_str());
    return status;
  }
  if (written_path_ == path_) return Status::Ok();
  if (::rename(written_path_.c_str(), path_.c_str()) != 0) {
    const Status status = Fail("rename", errno);
    ::unlink(written_path_.c_str());
    return status;
  }
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
  if (written_path_ != path_) ::unlink(written_path_.c_str());
}

Status WriteFile(const std::string& path, std::string_view bytes) {
  PLUMB_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path));
  PLUMB_RETURN_IF_ERROR(file.Write(bytes));
  return file.Commit();
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
  return folder;
}

WorkFolder::~WorkFolder() {
  std::error_code error;
  if (!path_.empty()) std::filesystem::remove_all(path_, error);
}

Status TryWriteFile(const std::string& path) { return AtomicFile::Create(path).status(); }

Result<std::string> ReadWholeFile(const std::string& path) {
  PLUMB_ASSIGN_OR_RETURN(const FileBytes bytes, ReadFile(path));
  return std::string(bytes.text());
}

}  // namespace plumb
