// SPDX-License-Identifier: Apache-2.0
// Zip archives, as far as numpy's .npz needs them: members stored or deflated, zip64 sizes, CRC-32 checked; written
// stored. No encryption, no archives split over several files.
#ifndef PLUMB_TENSOR_ZIP_H_
#define PLUMB_TENSOR_ZIP_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "plumb/status.h"

namespace plumb {

struct ZipMember {
  std::string name;
  bool deflated = false;
  uint32_t crc = 0;
  uint64_t size = 0;                  // when unpacked
  size_t begin = 0, stored_size = 0;  // in the archive
  std::string_view stored;            // its bytes there, of an archive in memory
};

// The members in the order of the archive's directory, no byte in two of them. Together they unpack to at most
// max_bytes.
Result<std::vector<ZipMember>> ListZip(std::string_view bytes, const std::string& path, uint64_t max_bytes);
Result<std::vector<ZipMember>> ListZip(const FileSource& source, const std::string& path, uint64_t max_bytes);
// The member's bytes: a view of the archive when it is stored, else unpacked into *buffer.
Result<std::string_view> UnpackZipMember(const ZipMember& member, const std::string& path, std::string* buffer);

// The checksum (CRC-32) of bytes that come piece by piece, from 0 on; and whether it is the member's.
uint32_t AddToZipChecksum(uint32_t sum, std::string_view bytes);
Status CheckZipChecksum(const ZipMember& member, uint32_t sum, const std::string& path);

// Writes stored members one after the other, then the directory.
class ZipWriter {
 public:
  explicit ZipWriter(AtomicFile* file) : file_(file) {}
  // The member is `head` followed by `size` bytes at `data`.
  Status Add(const std::string& name, std::string_view head, const void* data, size_t size);
  Status Finish();

 private:
  AtomicFile* file_;
  std::string directory_;
  uint64_t members_ = 0;
};

}  // namespace plumb

#endif  // PLUMB_TENSOR_ZIP_H_
