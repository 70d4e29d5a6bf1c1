// SPDX-License-Identifier: Apache-2.0
// Any bytes as the manifest of a dump: an error or a manifest whose files stay in their folder, never a crash.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "dump/manifest.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto manifest = plumb::ParseManifest({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (!manifest.ok()) return manifest.status().message().empty() ? std::abort(), 0 : 0;
  for (const plumb::DumpedBlob& blob : manifest->files) {
    if (blob.file.find_first_of(std::string_view("/\0", 2)) != std::string::npos) std::abort();
    if (!blob.shape.Validate().ok()) std::abort();
  }
  return 0;
}
