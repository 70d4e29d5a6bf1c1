// SPDX-License-Identifier: Apache-2.0
// Any bytes as a tnnproto: no crash, and what is accepted is written and read again to the same text. Shape inference
// too, because its parameters come straight from the file.
#include <cstdlib>

#include "format/tnn/proto.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto first = plumb::tnn::ParseProto({reinterpret_cast<const char*>(data), size}, "x.tnnproto");
  if (!first.ok()) return 0;
  (void)plumb::InferShapes(first->graph);
  const auto text = plumb::tnn::FormatProto(first->graph);
  if (!text.ok()) return 0;
  const auto second = plumb::tnn::ParseProto(*text, "y.tnnproto");
  if (!second.ok() || *plumb::tnn::FormatProto(second->graph) != *text) std::abort();
  return 0;
}
