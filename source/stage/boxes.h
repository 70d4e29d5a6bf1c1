// SPDX-License-Identifier: Apache-2.0
// Boxes, suppression, and sets of detections.
#ifndef PLUMB_STAGE_BOXES_H_
#define PLUMB_STAGE_BOXES_H_

#include <string>
#include <vector>

#include "stage/picture.h"

namespace plumb {

void AddBoxes(std::vector<Convention>* list);
// Boxes moved and scaled along either axis, as found in them.
std::vector<Convention> FindBoxLines(const Picture& before, const Picture& after);
// Intersection over union of corners; `pixel` 1: inclusive ones.
double BoxOverlap(const float* a, const float* b, float pixel);

// Suppressions with the thresholds that the stage says (iou, score) or, where it says none, those in use.
std::vector<Convention> FindSuppression(const Picture& before, const Picture& after, const StageInfo& info);

// Two sets of rows (corners, score, class): which have a partner of the same class with an IoU of 0.5 or more.
struct SetDifference {
  int64_t only_a = 0, only_b = 0, pairs = 0;
  int64_t near_ties = 0;  // of those without a partner: another row of their own side has the same score by 1e-4
  double smallest_overlap = 1, largest_score = 0;  // of the pairs: differences of score
  bool same_order = true;
  std::string text() const;
};
// Nothing: they are no detections.
std::optional<SetDifference> CompareDetections(const Picture& a, const Picture& b);

}  // namespace plumb

#endif  // PLUMB_STAGE_BOXES_H_
