// SPDX-License-Identifier: Apache-2.0
// Any bytes as a serialised TensorProto: a sentence or a tensor.
#include <cstdlib>

#include "interop/foreign_bytes.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto tensor = plumb::ParseTensorProtoFile({reinterpret_cast<const char*>(data), size}, "x.tensorproto");
  if (!tensor.ok() && tensor.status().message().empty()) std::abort();
  if (tensor.ok() && tensor->tensor.bytes() > 8 * size) std::abort();  // a varint of one byte is an i64
  return 0;
}
