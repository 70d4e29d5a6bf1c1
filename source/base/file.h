// SPDX-License-Identifier: Apache-2.0
// Files in and out, beyond plumb/tool/file.h: ReadFile reads one whole, OpenSource in parts, AtomicFile writes one that
// is either complete or not there. Nothing is mapped: of a mapped file that somebody else cuts short, looking at the
// bytes that are gone ends the program (SIGBUS), which may be anybody's who links the library.
//
// Errors are complete sentences with the path and the operating system's text. The Linux kernel writes at most 2 GiB
// per call and may write less; both are handled here, so that nobody else loops over write(). Threading: values; one
// AtomicFile serves one thread at a time.
#ifndef PLUMB_BASE_FILE_H_
#define PLUMB_BASE_FILE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "plumb/status.h"
#include "plumb/tool/file.h"

namespace plumb {

// The bytes of a file, read only; copies share them.
class FileBytes {
 public:
  FileBytes() = default;
  FileBytes(std::shared_ptr<void> owner, size_t size) : owner_(std::move(owner)), size_(size) {}

  const uint8_t* data() const { return static_cast<const uint8_t*>(owner_.get()); }
  size_t size() const { return size_; }
  std::string_view text() const { return {static_cast<const char*>(owner_.get()), size_}; }
  // Keeps data() alive, e.g. for Tensor::View over it.
  const std::shared_ptr<void>& owner() const { return owner_; }

 private:
  std::shared_ptr<void> owner_;
  size_t size_ = 0;
};

// Bytes that are read from their file when they are needed, which is opened for that each time: one that was cut,
// replaced or written since the first time is an IoError. Or bytes in memory. Copies share. Threads may read at once.
class FileSource {
 public:
  FileSource(FileBytes bytes)
      : bytes_(std::move(bytes)), size_(bytes_.size()) {}  // NOLINT(google-explicit-constructor)

  size_t size() const { return size_; }
  // Null where they are in a file.
  const uint8_t* memory() const { return origin_ == nullptr ? bytes_.data() : nullptr; }
  // `size` bytes from `begin` on, which lie within: copied to `to`; or by themselves (a view of those in memory).
  Status Read(size_t begin, size_t size, void* to) const;
  Result<FileBytes> Piece(size_t begin, size_t size) const;

 private:
  friend Result<FileSource> OpenSource(const std::string& path, uint64_t max_bytes);
  struct Origin;

  FileBytes bytes_;
  size_t size_ = 0;
  std::shared_ptr<const Origin> origin_;  // of what is in a file
};

// The file's bytes, in memory that counts. NotFound, InvalidArgument (it cannot be opened, is a folder or device, or
// more than max_bytes) or IoError. A pipe is read as long as something comes out of it.
Result<FileBytes> ReadFile(const std::string& path, uint64_t max_bytes = uint64_t{1} << 40);
// The same, but files of 1 MiB and more stay where they are: for models, and for files of which parts are needed.
Result<FileSource> OpenSource(const std::string& path, uint64_t max_bytes = uint64_t{1} << 40);

// A file under construction: `<path>.<six random characters>.part`, made anew whatever lies there, until Commit renames
// it to `path`; removed when it is never committed. Of several writers of one path each has its own, and the last one
// to commit wins. A path that exists and is no regular file (/dev/stdout, a pipe) is written directly.
class AtomicFile {
 public:
  static Result<AtomicFile> Create(std::string path);
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&& other) noexcept;
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();

  // Unbuffered: hand over large pieces. IoError (disk full, ...); after an error Commit refuses.
  Status Write(const void* data, size_t size);
  Status Write(std::string_view text) { return Write(text.data(), text.size()); }
  // Closes and renames; `sync` waits until the data is on the disk. REQUIRES: called once.
  Status Commit(bool sync = false);
  const std::string& path() const { return path_; }
  uint64_t bytes_written() const { return bytes_written_; }

 private:
  AtomicFile(std::string path, std::string written_path, int fd);
  Status Fail(const char* what, int error);
  void Discard();
  void RemovePart();

  std::string path_;
  std::string written_path_;  // the .part file, or path_ itself for what is no regular file
  int fd_ = -1;
  uint64_t bytes_written_ = 0;
  uint64_t max_bytes_ = UINT64_MAX;  // what `ulimit -f` allows: written beyond it, the kernel ends the program
  bool failed_ = false;
};

// Holds a folder for this process while the object lives, against others that take it as well: for files that belong
// together. Waits at most ten seconds, and goes on without where the folder's disk has no locks.
class FolderLock {
 public:
  explicit FolderLock(const std::string& folder);
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;
  ~FolderLock();

 private:
  int fd_;
};

// ::open that goes on after signals, with O_CLOEXEC; and the bytes that read() and write() may be asked for at once:
// the kernel moves at most 0x7ffff000.
int OpenRetrying(const std::string& path, int flags, unsigned mode = 0);
constexpr size_t kMaxPerCall = size_t{1} << 30;

// "No space left on device": the operating system's text for an errno value, safe with threads.
std::string ErrnoText(int error);

}  // namespace plumb

#endif  // PLUMB_BASE_FILE_H_
