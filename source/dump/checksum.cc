// SPDX-License-Identifier: Apache-2.0
#include "dump/checksum.h"

#define XXH_INLINE_ALL  // header only: nothing to link
#include <xxhash.h>

namespace plumb {
namespace {

std::string Hex(uint64_t value) {
  std::string text(16, '0');
  for (size_t i = 16; i-- > 0; value >>= 4) text[i] = "0123456789abcdef"[value & 15];
  return text;
}

}  // namespace

struct Checksum::State {
  XXH64_state_t hash;
};

Checksum::Checksum() : state_(std::make_unique<State>()) { XXH64_reset(&state_->hash, 0); }
Checksum::~Checksum() = default;

void Checksum::Add(const void* data, size_t size) {
  if (size > 0) XXH64_update(&state_->hash, data, size);
}

std::string Checksum::Text() const { return Hex(XXH64_digest(&state_->hash)); }

std::string ChecksumOf(const void* data, size_t size) { return Hex(XXH64(data, size, 0)); }

}  // namespace plumb
