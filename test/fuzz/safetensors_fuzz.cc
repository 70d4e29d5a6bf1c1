// SPDX-License-Identifier: Apache-2.0
// The header of a file of four KiB; what it names lies within.
#include "interop/safetensors.h"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr uint64_t kFile = 4096;
  if (size > kFile - 8) return 0;
  const auto entries =
      plumb::ParseSafetensorsHeader({reinterpret_cast<const char*>(data), size}, kFile, "x.safetensors");
  if (!entries.ok()) return 0;
  for (const plumb::SafetensorsEntry& entry : *entries) {
    const uint64_t values = static_cast<uint64_t>(entry.shape.NumElements()) * plumb::DTypeSize(entry.dtype);
    if (entry.begin < 8 + size || entry.begin + entry.size > kFile || entry.size != values) std::abort();
  }
  return 0;
}
