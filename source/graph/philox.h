// SPDX-License-Identifier: Apache-2.0
// Philox4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3; SC 2011): a counter and a key
// give 128 random bits, with integer arithmetic only, so any element can be drawn alone and every machine draws the
// same bits.
#ifndef PLUMB_GRAPH_PHILOX_H_
#define PLUMB_GRAPH_PHILOX_H_

#include <array>
#include <cstdint>
#include <string_view>

namespace plumb {

using PhiloxCounter = std::array<uint32_t, 4>;
using PhiloxKey = std::array<uint32_t, 2>;

inline PhiloxCounter Philox4x32(PhiloxCounter counter, PhiloxKey key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t product0 = uint64_t{0xD2511F53u} * counter[0];
    const uint64_t product1 = uint64_t{0xCD9E8D57u} * counter[2];
    counter = {static_cast<uint32_t>(product1 >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(product1),
               static_cast<uint32_t>(product0 >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(product0)};
    key[0] += 0x9E3779B9u;
    key[1] += 0xBB67AE85u;
  }
  return counter;
}

// One tensor's random numbers: the seed is the key, the tensor's name (FNV-1a, 64 bits) the upper half of the counter,
// the index of four elements the lower half.
class PhiloxStream {
 public:
  PhiloxStream(uint64_t seed, std::string_view owner, std::string_view slot)
      : key_{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)} {
    uint64_t hash = 0xCBF29CE484222325u;
    const auto add = [&hash](char byte) { hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001B3u; };
    for (const char byte : owner) add(byte);
    add('\0');
    for (const char byte : slot) add(byte);
    name_ = hash;
  }

  // Elements 4 * block ... 4 * block + 3.
  PhiloxCounter Block(uint64_t block) const {
    return Philox4x32({static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32), static_cast<uint32_t>(name_),
                       static_cast<uint32_t>(name_ >> 32)},
                      key_);
  }

 private:
  PhiloxKey key_;
  uint64_t name_ = 0;
};

}  // namespace plumb

#endif  // PLUMB_GRAPH_PHILOX_H_
