// SPDX-License-Identifier: Apache-2.0
// The checksum that POSIX's `cksum` prints, the one that every shell has: CRC-32 with the polynomial 0x04C11DB7, high
// bit first, over the bytes and then their number.
#ifndef PLUMB_REMOTE_POSIX_CKSUM_H_
#define PLUMB_REMOTE_POSIX_CKSUM_H_

#include <cstddef>
#include <cstdint>

namespace plumb {

uint32_t PosixCksum(const void* data, size_t size);

}  // namespace plumb

#endif  // PLUMB_REMOTE_POSIX_CKSUM_H_
