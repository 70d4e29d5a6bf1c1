// SPDX-License-Identifier: Apache-2.0
// Three bytes for the dtype and two dims, the rest as torch.save's archive of such a tensor. The checksums of stored
// members are put right, as chance would never find them.
#include <zlib.h>

#include <cstdlib>
#include <string>

#include "interop/foreign_bytes.h"
#include "tensor/zip.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plumb;
  if (size < 3) return 0;
  std::string bytes(reinterpret_cast<const char*>(data) + 3, size - 3);
  const auto members = ListZip(bytes, "x.pt", 1 << 20);
  for (size_t i = 0, at = 0; members.ok() && i < members->size(); ++i) {
    at = bytes.find("PK\1\2", at);  // its entry in the directory
    if (at == std::string::npos || at + 20 > bytes.size() || (*members)[i].deflated) break;
    const std::string_view stored = (*members)[i].stored;
    const auto crc = crc32_z(0, reinterpret_cast<const Bytef*>(stored.data()), stored.size());
    for (size_t byte = 0; byte < 4; ++byte) bytes[at + 16 + byte] = static_cast<char>(crc >> 8 * byte);
    at += 4;
  }
  const auto tensor = ParseTorchArchive(bytes, "x.pt", static_cast<DType>(data[0] % 12), Shape{data[1], data[2]});
  if (!tensor.ok() && tensor.status().message().empty()) std::abort();
  return 0;
}
