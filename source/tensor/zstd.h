// SPDX-License-Identifier: Apache-2.0
// zstd frames: unpacking with a bound, and packing piece by piece for whoever streams.
#ifndef PLUMB_TENSOR_ZSTD_H_
#define PLUMB_TENSOR_ZSTD_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "plumb/status.h"

namespace plumb {

// The bytes of all frames, at most max_bytes. A frame that is cut off or damaged is an error.
Result<std::string> DecompressZstd(std::string_view bytes, const std::string& path, uint64_t max_bytes);

// One frame with a checksum. The level's meaning is zstd's; negative ones are faster.
class ZstdCompressor {
 public:
  explicit ZstdCompressor(int level = 1);
  ~ZstdCompressor();
  ZstdCompressor(const ZstdCompressor&) = delete;
  ZstdCompressor& operator=(const ZstdCompressor&) = delete;
  // Packs the bytes and appends what is ready to *out.
  Status Append(const void* data, size_t size, std::string* out);
  // Appends the rest and ends the frame; the next Append begins a new one.
  Status Finish(std::string* out);

 private:
  struct State;
  Status Run(const void* data, size_t size, bool end, std::string* out);
  std::unique_ptr<State> state_;
};

}  // namespace plumb

#endif  // PLUMB_TENSOR_ZSTD_H_
