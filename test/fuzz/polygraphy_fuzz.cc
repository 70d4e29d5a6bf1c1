// SPDX-License-Identifier: Apache-2.0
#include "interop/tensor_set.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)plumb::ParsePolygraphy(text, "x.json");
  (void)plumb::ParseIoDescription(text, "x_ref_data.json");
  return 0;
}
