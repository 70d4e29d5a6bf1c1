// SPDX-License-Identifier: Apache-2.0
#include "device/shared/compiling.h"

#include <mutex>
#include <utility>

namespace plumb {
namespace {

struct Listening {
  std::mutex mutex;
  std::function<void(const Compiling&)> listener;
  int begun = 0;
};

Listening& Get() {
  static auto* listening = new Listening;
  return *listening;
}

}  // namespace

void SetCompileListener(std::function<void(const Compiling&)> listener) {
  const std::lock_guard<std::mutex> lock(Get().mutex);
  Get().listener = std::move(listener);
}

CompilingScope::CompilingScope(const char* device, std::string what, std::string cache_folder) {
  const std::lock_guard<std::mutex> lock(Get().mutex);
  event_ = {device, std::move(what), ++Get().begun, false, std::move(cache_folder)};
  if (Get().listener) Get().listener(event_);
}

CompilingScope::~CompilingScope() {
  const std::lock_guard<std::mutex> lock(Get().mutex);
  event_.done = true;
  if (Get().listener) Get().listener(event_);
}

}  // namespace plumb
