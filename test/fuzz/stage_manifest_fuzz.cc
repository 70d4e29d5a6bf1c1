// SPDX-License-Identifier: Apache-2.0
// Any bytes as the manifest of a sample's stages: an error or stages whose files stay in their folder, never a crash.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "stage/manifest.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto sample = plumb::ParseStageManifest({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (!sample.ok()) return sample.status().message().empty() ? std::abort(), 0 : 0;
  for (const plumb::StageRecord& stage : sample->stages) {
    if (stage.path.empty() || stage.path.find_first_of(std::string_view("/\0", 2)) != std::string::npos) std::abort();
    if (!stage.shape.Validate().ok()) std::abort();
  }
  return 0;
}
