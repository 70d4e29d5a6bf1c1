// SPDX-License-Identifier: Apache-2.0
// PNG checksums are put right first: chance would never find them, and behind them is the decoder.
#include <zlib.h>

#include "tensor/image.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  for (size_t at = 8; bytes.compare(0, 4, "\x89PNG") == 0 && at + 12 <= size;) {
    const auto byte = [&](size_t i) { return static_cast<size_t>(static_cast<uint8_t>(bytes[at + i])); };
    const size_t length = byte(0) << 24 | byte(1) << 16 | byte(2) << 8 | byte(3);
    if (length > size - at - 12) break;
    const auto crc = crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data() + at + 4), length + 4);
    for (size_t i = 0; i < 4; ++i) bytes[at + 8 + length + i] = static_cast<char>(crc >> (24 - 8 * i));
    at += 12 + length;
  }
  (void)plumb::ParseImage(bytes, "x.png", {}, {}, 1 << 18);
  return 0;
}
