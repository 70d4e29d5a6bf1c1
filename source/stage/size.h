// SPDX-License-Identifier: Apache-2.0
// Why a resize, a crop or a letterbox gives a picture of its size: which side is told, how the other one is rounded,
// what a frame's sides are multiples of.
#ifndef PLUMB_STAGE_SIZE_H_
#define PLUMB_STAGE_SIZE_H_

#include <cstdint>
#include <string>

namespace plumb {

struct PictureSize {
  int64_t height = 0, width = 0;
  bool operator==(const PictureSize& other) const { return height == other.height && width == other.width; }
};
struct SizeChoice {
  PictureSize before, after;
};
// "the size: the original's is 256 x 383 (short side 256, the long one cut off); ..."; "" where both sizes are one, or
// one rule gives both of what is before them.
std::string DescribeSizes(const SizeChoice& original, const SizeChoice& port, bool framed);

}  // namespace plumb

#endif  // PLUMB_STAGE_SIZE_H_
