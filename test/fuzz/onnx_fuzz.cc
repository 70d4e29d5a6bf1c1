// SPDX-License-Identifier: Apache-2.0
// Any bytes as an ONNX model: no crash, no unbounded memory or time. What is imported must be a graph that shape
// inference accepts.
#include <cstdlib>

#include "format/onnx/import.h"
#include "format/onnx/parse.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const plumb::FileBytes bytes(std::shared_ptr<void>(const_cast<uint8_t*>(data), [](void*) {}), size);
  const auto model = plumb::onnx::ParseModel(bytes, "/nowhere/x.onnx");
  if (!model.ok()) return 0;
  plumb::LoadOptions options;
  options.max_bytes = 1 << 20;
  const plumb::onnx::ImportResult result = plumb::onnx::ImportModel(*model, options);
  if (result.status.ok() && !plumb::InferShapes(result.graph).ok()) std::abort();
  return 0;
}
