// SPDX-License-Identifier: Apache-2.0
// Masks: pixels that are set, or numbers of classes (0: background).
#ifndef PLUMB_STAGE_MASKS_H_
#define PLUMB_STAGE_MASKS_H_

#include <string>
#include <vector>

#include "stage/picture.h"

namespace plumb {

// Thresholds (the one that the stage says, and those in use) before and behind each resize.
std::vector<Convention> FindMask(const Picture& before, const Picture& after, const StageInfo& info);

// Pixels that have the same number other than 0; intersection over union.
struct MaskOverlap {
  int64_t both = 0, only_a = 0, only_b = 0, pixels = 0;
  double share() const;  // 1 where neither has any
  std::string text() const;
};
// Nothing: their sizes differ.
std::optional<MaskOverlap> CompareMasks(const Picture& a, const Picture& b);

}  // namespace plumb

#endif  // PLUMB_STAGE_MASKS_H_
