// SPDX-License-Identifier: Apache-2.0
#include "remote/posix_cksum.h"

#include <array>

namespace plumb {
namespace {

std::array<uint32_t, 256> CksumTable() {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t value = i << 24;
    for (int bit = 0; bit < 8; ++bit) value = (value << 1) ^ ((value & 0x80000000u) != 0 ? 0x04C11DB7u : 0);
    table[i] = value;
  }
  return table;
}

}  // namespace

uint32_t PosixCksum(const void* data, size_t size) {
  static const std::array<uint32_t, 256> table = CksumTable();
  uint32_t crc = 0;
  const auto add = [&](uint32_t byte) { crc = (crc << 8) ^ table[(crc >> 24) ^ byte]; };
  const uint8_t* bytes = static_cast<const uint8_t*>(data);
  for (size_t i = 0; i < size; ++i) add(bytes[i]);
  for (size_t rest = size; rest > 0; rest >>= 8) add(rest & 0xFF);
  return ~crc;
}

}  // namespace plumb
