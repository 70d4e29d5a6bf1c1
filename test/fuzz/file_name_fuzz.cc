// SPDX-License-Identifier: Apache-2.0
// Any bytes as the name of a file in a dump without manifest.
#include <cstdlib>
#include <string_view>

#include "dump/file_name.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view name(reinterpret_cast<const char*>(data), size);
  const auto dumped = plumb::ParseTnnFileName(name);
  if (dumped && (!dumped->shape.Validate().ok() || dumped->layer_index < 0 || dumped->slot < 0)) std::abort();
  const auto named = plumb::ParseNamedShape(name);
  if (named && !named->shape.Validate().ok()) std::abort();
  (void)plumb::IsRawName(name);
  (void)plumb::NameInFiles(std::string(name));
  return 0;
}
