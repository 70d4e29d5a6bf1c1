// SPDX-License-Identifier: Apache-2.0
// The manifests of a dump that a device made in parts, with a zero byte between them: one manifest or a sentence.
#include <cstdlib>
#include <string>

#include "device_check/parts.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::vector<std::pair<std::string, std::string>> parts(1);
  for (size_t i = 0; i < size && parts.size() < 8; ++i) {
    if (data[i] == 0)
      parts.emplace_back();
    else
      parts.back().second += static_cast<char>(data[i]);
  }
  const auto joined = plumb::JoinManifests(parts);
  if (!joined.ok() && joined.status().message().empty()) std::abort();
  return 0;
}
