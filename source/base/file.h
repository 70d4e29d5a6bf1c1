// Whole files in and out, beyond plumb/file.h: ReadFile reads, MapFile maps a file, AtomicFile writes one that is
// either complete or not there.
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

#include "plumb/file.h"
#include "plumb/status.h"

namespace plumb {

// The bytes of a file, read only; copies share them. Of a mapped file that somebody else truncates meanwhile, looking
// at the bytes that are gone ends the process (SIGBUS), like any mapping.
class FileBytes {
 public:
  FileBytes() = default;
  FileBytes(std::shared_ptr<void> owner, size_t size, bool mapped)
      : owner_(std::move(owner)), size_(size), mapped_(mapped) {}

  const uint8_t* data() const { return static_cast<const uint8_t*>(owner_.get()); }
  size_t size() const { return size_; }
  std::string_view text() const { return {static_cast<const char*>(owner_.get()), size_}; }
  // Keeps data() alive, e.g. for Tensor::View over it.
  const std::shared_ptr<void>& owner() const { return owner_; }
  // Gives the pages from that of `begin` to the one in front of `end`'s back to the operating system when the file is
  // mapped, so that a reader that goes through a large file once does not count it in the process's memory. The bytes
  // stay readable (from the file again).
  void Drop(size_t begin, size_t end) const;
  // `size` bytes from `begin` on, which lie within: of a mapped file read once more from the file, so that one that was
  // cut, replaced or written meanwhile is an IoError; else a view.
  Result<FileBytes> Piece(size_t begin, size_t size) const;

 private:
  friend Result<FileBytes> MapFile(const std::string& path, uint64_t max_bytes);
  struct Origin;

  std::shared_ptr<void> owner_;
  size_t size_ = 0;
  bool mapped_ = false;
  std::shared_ptr<const Origin> origin_;  // of a mapped file
};

// The file's bytes, in memory that counts. NotFound, InvalidArgument (it cannot be opened, is a folder or device, or
// more than max_bytes) or IoError. A pipe is read as long as something comes out of it.
Result<FileBytes> ReadFile(const std::string& path, uint64_t max_bytes = uint64_t{1} << 40);
// The same, but files of 1 MiB and more are mapped: for models, and for files of which only parts are needed.
Result<FileBytes> MapFile(const std::string& path, uint64_t max_bytes = uint64_t{1} << 40);

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
