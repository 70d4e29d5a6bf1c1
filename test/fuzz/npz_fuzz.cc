// SPDX-License-Identifier: Apache-2.0
#include "tensor/npz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  (void)plumb::ParseNpz({reinterpret_cast<const char*>(data), size}, "x.npz", 16 << 20);
  return 0;
}
