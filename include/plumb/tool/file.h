// SPDX-License-Identifier: Apache-2.0
// Whole files in and out: what is written is complete or not there; folders for a while.
//
// Errors are complete sentences with the path and the operating system's text.
// Threading: free functions; of several writers of one path the last one wins, and the file is one writer's, whole.
#ifndef PLUMB_TOOL_FILE_H_
#define PLUMB_TOOL_FILE_H_

#include <string>
#include <string_view>
#include <utility>

#include "plumb/status.h"

namespace plumb {

// Writes a file of its own beside it (its name ends in .part) and renames that, so that nobody ever reads half a
// report. A path that exists and is no regular file (/dev/stdout, a pipe) is written directly.
Status WriteFile(const std::string& path, std::string_view bytes);

// Whether WriteFile could: tries it, and leaves nothing behind. To be asked before long work.
Status TryWriteFile(const std::string& path);

// Removes the .part files that are being written. For the signal handler of a program that ends then: it calls only
// what a handler may.
void RemoveUnfinishedFiles();

// All bytes of a file or pipe. NotFound, InvalidArgument (it cannot be opened, is a folder or device) or IoError.
Result<std::string> ReadWholeFile(const std::string& path);

// A fresh folder that goes with the object, and all that is in it.
class WorkFolder {
 public:
  // <parent>/<name>-XXXXXX, readable for this user only. Empty parent: where the system has such folders ($TMPDIR,
  // /tmp). IoError.
  static Result<WorkFolder> Make(const std::string& name, const std::string& parent = "");
  WorkFolder() = default;  // none
  WorkFolder(WorkFolder&& other) noexcept : path_(std::exchange(other.path_, "")) {}
  WorkFolder& operator=(WorkFolder&& other) noexcept {
    std::swap(path_, other.path_);
    return *this;
  }
  ~WorkFolder();
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace plumb

#endif  // PLUMB_TOOL_FILE_H_
