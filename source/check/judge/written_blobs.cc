// SPDX-License-Identifier: Apache-2.0
#include "check/judge/written_blobs.h"

#include <fmt/core.h>

#include "check/core/inspect.h"
#include "check/numbers/stored_half.h"

namespace plumb {

Status WrittenBlobs::NoteWritten(const std::string& blob, const Tensor& value) {
  written_[blob] = {Fingerprint(value), Fingerprint(value)};
  seen_.emplace(written_[blob].first, blob);
  if (storage_ == DType::kF32) return Status::Ok();
  PLUMB_ASSIGN_OR_RETURN(const Tensor rounded, RoundedTo(storage_, value));
  written_[blob].second = Fingerprint(rounded);
  return Status::Ok();
}

bool WrittenBlobs::HasChanged(const std::string& blob, uint64_t fingerprint) const {
  const auto it = written_.find(blob);
  return it != written_.end() && it->second.first != fingerprint && it->second.second != fingerprint;
}

std::string WrittenBlobs::EarlierTensor(const std::string& blob, const Tensor& value) const {
  constexpr int64_t kTelling = 16;  // values, not all the same
  const auto written = written_.find(blob);
  if (written == written_.end() || value.NumElements() < kTelling) return "";
  const auto earlier = seen_.find(written->second.first);
  if (earlier == seen_.end() || earlier->second == blob) return "";
  for (int64_t i = 1; i < value.NumElements(); ++i) {
    if (value.ValueAt(i) != value.ValueAt(0))
      return fmt::format("it equals the earlier tensor '{}' bit for bit", earlier->second);
  }
  return "";
}

}  // namespace plumb
