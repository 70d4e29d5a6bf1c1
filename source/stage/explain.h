// SPDX-License-Identifier: Apache-2.0
// Which convention made one picture of another: all that apply are replayed, and what comes out is compared.
#ifndef PLUMB_STAGE_EXPLAIN_H_
#define PLUMB_STAGE_EXPLAIN_H_

#include <string>
#include <vector>

#include "stage/picture.h"

namespace plumb {

struct PictureDifference {
  double max_abs = 0, sum_abs = 0;
  int64_t differing = 0, count = 0, worst = -1;
  bool comparable = true;  // false: other sizes, or NaN on one side alone
};
PictureDifference ComparePictures(const Picture& a, const Picture& b);

struct Explained {
  Convention convention;
  PictureDifference difference;
  bool reproduces = false;
  std::string also = {};  // another convention that gives the very same here: " (here the same as Pillow's NEAREST)"

  std::string words() const { return convention.name + also; }
};

// What a replay may be off by: of bytes nothing (but Convention::off_by_one), of floats the rounding of their dtype.
double ReplayBound(const Picture& after, DType dtype);
// `before`: what was replayed on.
bool Reproduces(const Convention& convention, const PictureDifference& difference, const Picture& before,
                const Picture& after, DType dtype);

// The best first: those that reproduce, of these the method or library that the stage names, then the fewest differing
// values; then the nearest.
// `alone`: one convention, no frame around it and nothing behind it.
std::vector<Explained> ExplainPicture(const Picture& before, const Picture& after, const StageInfo& info, DType dtype,
                                      bool alone = false);

// Conventions whose numbers are found in the pictures: crop.cc, letterbox.cc, affine.cc, quantise.cc.
std::vector<Convention> FindCrop(const Picture& before, const Picture& after);
// Of bytes that become floats: a normalisation inside, too.
std::vector<Convention> FindLetterbox(const Picture& before, const Picture& after, DType dtype);
std::vector<Convention> FindAffine(const Picture& before, const Picture& after, const StageInfo& info, DType dtype);

}  // namespace plumb

#endif  // PLUMB_STAGE_EXPLAIN_H_
