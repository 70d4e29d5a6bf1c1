// SPDX-License-Identifier: Apache-2.0
// A folder in memory for readers that take a path, and in it the files of an input: written over in place, since making
// and renaming one takes longer than most inputs.
#ifndef PLUMB_TEST_FUZZ_FUZZ_FOLDER_H_
#define PLUMB_TEST_FUZZ_FUZZ_FOLDER_H_

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>

#include "plumb/tool/file.h"

namespace plumb {

class FuzzFolder {
 public:
  FuzzFolder() {
    auto made = WorkFolder::Make("plumb-fuzz", ::access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "");
    if (!made.ok()) std::abort();
    folder_ = std::move(*made);
  }
  const std::string& path() const { return folder_.path(); }

  void Write(const std::string& name, const uint8_t* data, size_t size) {
    const auto [file, is_new] = files_.emplace(name, -1);
    if (is_new) file->second = ::open((path() + "/" + name).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    const bool whole = ::pwrite(file->second, data, size, 0) == static_cast<ssize_t>(size);
    if (!whole || ::ftruncate(file->second, static_cast<off_t>(size)) != 0) std::abort();
  }

 private:
  WorkFolder folder_;
  std::map<std::string, int> files_;
};

}  // namespace plumb

#endif  // PLUMB_TEST_FUZZ_FUZZ_FOLDER_H_
