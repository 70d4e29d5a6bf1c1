// SPDX-License-Identifier: Apache-2.0
// XXH64 (seed 0) of bytes that come in pieces: the checksum of a dump's files, the one that xxh64sum prints. About 10
// GB/s, so that it costs a small part of writing the file.
#ifndef PLUMB_DUMP_CHECKSUM_H_
#define PLUMB_DUMP_CHECKSUM_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace plumb {

class Checksum {
 public:
  Checksum();
  ~Checksum();
  Checksum(const Checksum&) = delete;
  Checksum& operator=(const Checksum&) = delete;
  void Add(const void* data, size_t size);
  // Of everything added so far, as 16 hexadecimal digits.
  std::string Text() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::string ChecksumOf(const void* data, size_t size);

}  // namespace plumb

#endif  // PLUMB_DUMP_CHECKSUM_H_
