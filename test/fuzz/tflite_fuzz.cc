// SPDX-License-Identifier: Apache-2.0
// Any bytes as a TFLite model: no crash, no unbounded memory or time. What is imported must be a graph that shape
// inference accepts.
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "format/tflite/import.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // A file in memory is aligned, which flatbuffers counts on.
  auto owner = std::make_shared<std::vector<uint64_t>>(size / sizeof(uint64_t) + 1);
  if (size > 0) std::memcpy(owner->data(), data, size);
  const plumb::FileBytes bytes(std::shared_ptr<void>(owner, owner->data()), size);
  plumb::LoadOptions options;
  options.max_bytes = 1 << 20;
  const auto graph = plumb::tflite::LoadTfliteBytes(bytes, "/nowhere/x.tflite", options);
  if (graph.ok() && !plumb::InferShapes(*graph).ok()) std::abort();
  return 0;
}
