// SPDX-License-Identifier: Apache-2.0
// Detections in the forms of COCO: results (a list of objects) or annotations (an object with such a list).
// https://cocodataset.org/#format-results
#ifndef PLUMB_STAGE_COCO_H_
#define PLUMB_STAGE_COCO_H_

#include <string>
#include <string_view>
#include <vector>

#include "plumb/stage.h"

namespace plumb {

// A sample per image, by its id, in the order in which they come; each with the one stage "detections": rows of x1, y1,
// x2, y2, score (1 where no entry has one, as of annotations) and class. `path` stands in errors: CorruptModel with the
// entry and the field.
Result<std::vector<StageSample>> ParseCoco(std::string_view text, const std::string& path);

// Where the detections of one side alone have scores: those of the other become 1. Whether it is so.
bool LeaveScoresOut(std::vector<StageSample>* a, std::vector<StageSample>* b);

// Images that one side alone names have no detections on the other: they are added to it.
void AddImagesWithout(const std::vector<StageSample>& other, std::vector<StageSample>* samples);

}  // namespace plumb

#endif  // PLUMB_STAGE_COCO_H_
