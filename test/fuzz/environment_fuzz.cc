// SPDX-License-Identifier: Apache-2.0
// Any bytes as the environment of a bundle: an error or differences from another one, never a crash.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "plumb/tool/bundle.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto same = plumb::CompareEnvironments(text, text);
  if (same.ok() && !same->empty()) std::abort();
  const auto found = plumb::CompareEnvironments(text, R"({"format": "plumb-environment", "version": 1, "cpu": 1})");
  if (found.ok() != same.ok()) std::abort();
  return 0;
}
