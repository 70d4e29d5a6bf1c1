// SPDX-License-Identifier: Apache-2.0
// The pickle of a state dict: no tensor has more dims than strides, and no error is empty.
#include "interop/state_dict.h"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto entries = plumb::ParseStateDict({reinterpret_cast<const char*>(data), size}, "x.pt");
  if (!entries.ok()) {
    if (entries.status().message().empty()) std::abort();
    return 0;
  }
  for (const plumb::StateDictEntry& entry : *entries) {
    if (entry.strides.size() != entry.shape.dims().size() || entry.offset < 0) std::abort();
  }
  return 0;
}
