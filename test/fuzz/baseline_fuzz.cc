// SPDX-License-Identifier: Apache-2.0
// Any bytes as the file of --baseline.
#include <cstdlib>

#include "plumb/tool/baseline.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto baseline = plumb::Baseline::Parse({reinterpret_cast<const char*>(data), size}, "x.json");
  if (!baseline.ok() && baseline.status().message().empty()) std::abort();
  if (baseline.ok()) (void)baseline->Compare("net", {});
  return 0;
}
