// SPDX-License-Identifier: Apache-2.0
// WrittenBlobs: fingerprints of what was written and read, by blob: memory that is shared wrongly changes between the
// layer that wrote it and one that reads it, and memory that nobody wrote still holds an earlier tensor.
#ifndef PLUMB_CHECK_JUDGE_WRITTEN_BLOBS_H_
#define PLUMB_CHECK_JUDGE_WRITTEN_BLOBS_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "plumb/tensor.h"

namespace plumb {

class WrittenBlobs {
 public:
  // storage: f16 or bf16 where some blob of the run is stored so.
  explicit WrittenBlobs(DType storage = DType::kF32) : storage_(storage) {}

  Status NoteWritten(const std::string& blob, const Tensor& value);
  void NoteRead(const std::string& blob, uint64_t fingerprint) { seen_.emplace(fingerprint, blob); }
  // Whether it has other bits than those that were written. A blob that is stored as f32 here and as f16 there (a
  // network input, a layer that fell back) is the same blob when its rounded values agree.
  bool HasChanged(const std::string& blob, uint64_t fingerprint) const;
  // "it equals the earlier tensor 'x' bit for bit", or "".
  std::string EarlierTensor(const std::string& blob, const Tensor& value) const;
  void Release(const std::string& blob) { written_.erase(blob); }

 private:
  DType storage_;
  std::map<std::string, std::pair<uint64_t, uint64_t>> written_;  // as written, and rounded to `storage_`
  std::map<uint64_t, std::string> seen_;                          // which blob had these bits first
};

}  // namespace plumb

#endif  // PLUMB_CHECK_JUDGE_WRITTEN_BLOBS_H_
