// SPDX-License-Identifier: Apache-2.0
// Tells the program's listener that a driver compiles, for as long as the object lives.
#ifndef PLUMB_DEVICE_SHARED_COMPILING_H_
#define PLUMB_DEVICE_SHARED_COMPILING_H_

#include "plumb/tool/compiling.h"

namespace plumb {

class CompilingScope {
 public:
  // `cache_folder` is empty where nothing is kept.
  CompilingScope(const char* device, std::string what, std::string cache_folder);
  ~CompilingScope();
  CompilingScope(const CompilingScope&) = delete;
  CompilingScope& operator=(const CompilingScope&) = delete;

 private:
  Compiling event_;
};

}  // namespace plumb

#endif  // PLUMB_DEVICE_SHARED_COMPILING_H_
