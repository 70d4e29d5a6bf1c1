// SPDX-License-Identifier: Apache-2.0
// Any bytes as COCO's detections: an error, or samples of one stage of whole rows, never a crash.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "stage/coco.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto samples = plumb::ParseCoco({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (!samples.ok()) return samples.status().message().empty() ? std::abort(), 0 : 0;
  for (const plumb::StageSample& sample : *samples) {
    if (sample.stages.size() != 1 || sample.stages[0].values.NumElements() % 6 != 0) std::abort();
  }
  return 0;
}
