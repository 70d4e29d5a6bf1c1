// SPDX-License-Identifier: Apache-2.0
// y = a * x + b of each channel: normalisations, and quantisations, which round it to integers.
#ifndef PLUMB_STAGE_LINES_H_
#define PLUMB_STAGE_LINES_H_

#include <cmath>
#include <string>
#include <vector>

#include "stage/explain.h"

namespace plumb {

struct AffineLine {
  double slope = 1, offset = 0;
};
// Least squares per channel; a channel of one value takes the others' slope. Nothing: no channel varies.
std::optional<std::vector<AffineLine>> FitLines(const Picture& x, const Picture& y);

// How integers come of a * x + b.
enum class Rounding { kNone, kHalfEven, kHalfAway, kDown, kToZero };
struct ValueLimits {
  double low = -HUGE_VAL, high = HUGE_VAL;
};
ValueLimits LimitsOf(DType dtype);
// The lines behind another convention (`first`).
Convention AffineRow(const std::string& name, const std::string& code, const std::vector<AffineLine>& lines,
                     const Convention& first, Rounding rounding, DType dtype);

// Quantisations of these fitted lines behind `first`: one scale and zero point; or a mean and std per channel, whose
// quantisation is one multiplication and addition each.
void AddQuantised(const Picture& before, const Picture& after, const std::vector<AffineLine>& fitted,
                  const Convention& first, const StageInfo& info, DType dtype, std::vector<Convention>* found);
// "ImageNet's mean and std, then / 0.02" of lines whose zero point is `zero`, of values whose largest is `unit`; or "".
std::string QuantisedKnownName(const std::vector<AffineLine>& lines, double zero, double unit);

}  // namespace plumb

#endif  // PLUMB_STAGE_LINES_H_
