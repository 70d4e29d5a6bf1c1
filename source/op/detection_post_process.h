// SPDX-License-Identifier: Apache-2.0
// DetectionPostProcess: the boxes of an SSD (Liu et al., "SSD: Single Shot MultiBox Detector", 2016) that stay after
// greedy suppression, as TFLite's TFLite_Detection_PostProcess and TNN's DetectionPostProcess make them.
//   inputs: codes [1, boxes, 4 or more], of which the first four are y, x, h, w; scores [1, boxes, classes], with one
//     class more in front where the network has a background; anchors [boxes, 4], y, x, h, w of the centres (TNN: the
//     layer's resource)
//   a box is y = code_y / y_scale * anchor_h + anchor_y, x alike, half its height exp(code_h / h_scale) anchor_h / 2
//   use_regular_nms 0: each box counts with its best class; of those with at least nms_score_threshold the best one
//     stays and takes away all that overlap it by more than nms_iou_threshold (intersection over union), and so on, up
//     to max_detections; each gives its max_classes_per_detection best classes
//   use_regular_nms 1: the same for each class alone, up to detections_per_class; then the max_detections best of all
//   Of equal scores the first one stands first.
//   outputs: corners [1, n, 4, 1] y0, x0, y1, x1; classes and scores [1, n, 1, 1]; how many boxes stayed [1, 1, 1, 1],
//     all f32. n is max_detections max_classes_per_detection. What is behind the last detection is 0; LiteRT leaves
//     there what the memory held, so nobody judges it.
#ifndef PLUMB_OP_DETECTION_POST_PROCESS_H_
#define PLUMB_OP_DETECTION_POST_PROCESS_H_

#include "op/core/op.h"

namespace plumb {

struct DetectionPostProcessParam : ParamBase<DetectionPostProcessParam> {
  int max_detections = 0, max_classes_per_detection = 0, detections_per_class = 0;
  bool use_regular_nms = false;
  float nms_score_threshold = 0, nms_iou_threshold = 0;
  int num_classes = 0;
  float y_scale = 0, x_scale = 0, h_scale = 0, w_scale = 0;
  bool has_anchors = false;
  int num_anchors = 0, anchors_coord_num = 0;
  void Visit(ParamVisitor& v) override;
};

struct DetectionShape {
  int64_t boxes = 0, codes = 4;     // elements of a box's code
  int64_t columns = 0, offset = 0;  // of the scores; of the first class that counts
  int64_t classes = 0;              // that count
  int64_t most = 0, per_box = 0;    // detections; classes of each
  int64_t rows = 0;                 // of the outputs
  int64_t per_class = 0;            // most detections of a class, in regular suppression
};

Result<DetectionShape> ResolveDetection(const Layer& layer, const std::vector<BlobInfo>& inputs);

}  // namespace plumb

#endif  // PLUMB_OP_DETECTION_POST_PROCESS_H_
