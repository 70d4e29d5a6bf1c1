// SPDX-License-Identifier: Apache-2.0
#include "tensor/zstd.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  (void)plumb::DecompressZstd({reinterpret_cast<const char*>(data), size}, "x.zst", 16 << 20);
  return 0;
}
