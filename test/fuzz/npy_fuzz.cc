// SPDX-License-Identifier: Apache-2.0
#include "tensor/npy.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  (void)plumb::ParseNpy({reinterpret_cast<const char*>(data), size}, "x.npy");
  return 0;
}
