// SPDX-License-Identifier: Apache-2.0
// Any bytes up to the first zero as the JSON beside QNN's raw files, the rest as the bytes of the tensor 'conv1',
// native and not: a sentence or a tensor.
#include <cstdlib>
#include <string_view>

#include "interop/foreign_bytes.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  const std::string_view description = all.substr(0, all.find('\0'));
  const std::string_view bytes = description.size() == size ? "" : all.substr(description.size() + 1);
  for (const bool native : {true, false}) {
    const auto tensor = plumb::ParseQnnFile(bytes, "conv1.raw", description, "conv1", native);
    if (!tensor.ok() && tensor.status().message().empty()) std::abort();
    if (tensor.ok() && tensor->bytes() > 4 * bytes.size()) std::abort();  // i8 becomes f32
  }
  return 0;
}
