// SPDX-License-Identifier: Apache-2.0
// One blob to one file, in any of the dump's formats, with its checksums and statistics on the way.
#ifndef PLUMB_DUMP_BLOB_FILE_H_
#define PLUMB_DUMP_BLOB_FILE_H_

#include <string>
#include <string_view>

#include "dump/statistics.h"
#include "plumb/dump.h"
#include "plumb/tensor.h"

namespace plumb {

struct BlobFileResult {
  uint64_t bytes = 0;           // of the file
  std::string checksum;         // of the file
  std::string values_checksum;  // of the dense values
  Statistics statistics;
};

// Measures the tensor and, when `path` is not empty, writes it there (`path`.part until it is complete). Runs on the
// calling thread with some 100 KB of memory of its own.
Status WriteBlobFile(const Tensor& tensor, const std::string& path, DumpOptions::Format format, bool zstd,
                     BlobFileResult* result);

// A dumped blob back from the bytes of its file; `path` tells the format. Unlike ParseTensors it never takes plain
// values for TNN's text form with a header.
Result<Tensor> ParseBlobFile(std::string_view bytes, const std::string& path, DType dtype, const Shape& shape);

// What a .zst file holds. A blob of zeros is packed to a ten thousandth, so its shape says what it may become.
Result<std::string> UnpackBlobFile(std::string_view bytes, const std::string& path, const Shape& shape);

}  // namespace plumb

#endif  // PLUMB_DUMP_BLOB_FILE_H_
