// SPDX-License-Identifier: Apache-2.0
// Stages that are computed of tensors rather than of one picture: masks of prototypes, boxes of a network's rows.
#ifndef PLUMB_STAGE_SEVERAL_H_
#define PLUMB_STAGE_SEVERAL_H_

#include <vector>

#include "stage/explain.h"

namespace plumb {

// Masks of coefficients times prototypes (YOLACT, YOLO-seg). `read`: coefficients [n,c] and prototypes [c,h,w], in any
// order, and boxes [n,4], whose coordinates are the masks'; or rows of boxes, what else, and coefficients.
std::vector<Convention> FindPrototypeMasks(const std::vector<Tensor>& read, const Picture& after,
                                           const StageInfo& info);
// Boxes of a network's rows, on a grid: distances to the sides (FCOS, YOLOv8), centres and sizes (YOLOX), of anchors
// (YOLOv3, YOLOv5, SSD). `read`: the rows [n,4 or more], and anchors [n,4] where the stage reads them. The parameters
// "strides", "size" (height, width) and "anchors" say the grid; without them it is guessed from the number of rows.
std::vector<Convention> FindBoxDecoding(const std::vector<Tensor>& read, const Picture& after, const StageInfo& info);

// Those of the stage's kind, the best first.
std::vector<Explained> ExplainSeveral(const std::vector<Tensor>& read, const Picture& after, const StageInfo& info,
                                      DType dtype);

// Rows of numbers: a tensor without its axes of 1. Nothing: it has not two axes, or more than 2^26 values.
std::optional<Picture> RowsOfTensor(const Tensor& tensor);

}  // namespace plumb

#endif  // PLUMB_STAGE_SEVERAL_H_
