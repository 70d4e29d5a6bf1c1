// SPDX-License-Identifier: Apache-2.0
// Any bytes as a blob file of OpenVINO: a sentence or a tensor.
#include <cstdlib>

#include "interop/foreign_bytes.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto tensor = plumb::ParseIebFile({reinterpret_cast<const char*>(data), size}, "x.ieb");
  if (!tensor.ok() && tensor.status().message().empty()) std::abort();
  if (tensor.ok() && tensor->bytes() > size) std::abort();
  return 0;
}
