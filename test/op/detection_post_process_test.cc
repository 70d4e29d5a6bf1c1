// SPDX-License-Identifier: Apache-2.0
#include "util/op_case.h"

namespace plumb {
namespace {

constexpr char kScales[] = "y_scale=10 x_scale=10 h_scale=5 w_scale=5 ";

OpCase DetectionCase(const char* name, const std::string& params) {
  return OpCase("DetectionPostProcess", name, std::string(kScales) + params).Outputs(4);
}

// Six boxes of 1 x 1 in three places, some moved by a tenth of an anchor; the class in front is the background.
OpCase SixBoxes(const char* name, const std::string& params) {
  return DetectionCase(name, "max_detections=3 num_classes=2 " + params)
      .In({1, 6, 4}, {0, 0, 0, 0, 1, 0, 0, 0, -1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0})
      .In({1, 6, 3}, {0, 0.9, 0.8, 0, 0.75, 0.72, 0, 0.6, 0.5, 0, 0.93, 0.95, 0, 0.5, 0.4, 0, 0.3, 0.2})
      .Const({6, 4},
             {0.5, 0.5, 1, 1, 0.5, 0.5, 1, 1, 0.5, 0.5, 1, 1, 0.5, 10.5, 1, 1, 0.5, 10.5, 1, 1, 0.5, 100.5, 1, 1});
}

}  // namespace

std::vector<OpCase> detection_post_process_cases() {
  return {
      // Each box by its best class: 0.95 (class 1), 0.9 and, far away, 0.3; their neighbours overlap by 9 / 11.
      SixBoxes("best_class", "nms_iou_threshold=0.5 max_classes_per_detection=1")
          .Out({0, 10, 1, 11, 0, 0, 1, 1, 0, 100, 1, 101})
          .Out({1, 0, 0})
          .Out({0.95, 0.9, 0.3})
          .Out({3}),
      SixBoxes("nothing_overlaps_enough", "nms_iou_threshold=0.9 max_classes_per_detection=1")
          .Out({0, 10, 1, 11, 0, 0, 1, 1, 0.1, 0, 1.1, 1})
          .Out({1, 0, 0})
          .Out({0.95, 0.9, 0.75})
          .Out({3}),
      SixBoxes("threshold", "nms_iou_threshold=0.5 nms_score_threshold=0.92 max_classes_per_detection=1")
          .Out({0, 10, 1, 11, 0, 0, 0, 0, 0, 0, 0, 0})
          .Out({1, 0, 0})
          .Out({0.95, 0, 0})
          .Out({1}),
      SixBoxes("two_classes_of_each", "nms_iou_threshold=0.5 max_classes_per_detection=2")
          .Out({0, 10, 1, 11, 0, 10, 1, 11, 0, 0, 1, 1, 0, 0, 1, 1, 0, 100, 1, 101, 0, 100, 1, 101})
          .Out({1, 0, 0, 1, 0, 1})
          .Out({0.95, 0.93, 0.9, 0.8, 0.3, 0.2})
          .Out({3}),
      // Each class alone: 0.93, 0.9, 0.3 of class 0 and 0.95, 0.8, 0.2 of class 1.
      SixBoxes("each_class",
               "nms_iou_threshold=0.5 max_classes_per_detection=1 use_regular_nms=1 detections_per_class=2")
          .Out({0, 10, 1, 11, 0, 10, 1, 11, 0, 0, 1, 1})
          .Out({1, 0, 0})
          .Out({0.95, 0.93, 0.9})
          .Out({3}),
      // exp(5 / 5) / 2 of an anchor to each side, moved by a quarter.
      DetectionCase("decodes", "max_detections=1 max_classes_per_detection=1 num_classes=1")
          .In({1, 1, 4}, {2.5, -2.5, 5, 0})
          .In({1, 1, 1}, {0.5})
          .Const({1, 4}, {10, 20, 4, 2})
          .Out({11 - 5.43656365691809, 18.5, 11 + 5.43656365691809, 20.5})
          .Out({0})
          .Out({0.5})
          .Out({1}),
      DetectionCase(
          "many",
          "max_detections=10 max_classes_per_detection=1 num_classes=5 nms_score_threshold=0.5 nms_iou_threshold=0.6")
          .In({1, 200, 4})
          .In({1, 200, 6})
          .Const({200, 4}, Regime::kPositive),
      DetectionCase("many_of_each_class",
                    "max_detections=20 max_classes_per_detection=1 detections_per_class=7 use_regular_nms=1 "
                    "num_classes=5 nms_score_threshold=0.1 nms_iou_threshold=0.4")
          .In({1, 200, 4})
          .In({1, 200, 5})
          .Const({200, 4}, Regime::kPositive),
      DetectionCase("anchors_of_the_layer", "max_detections=1 max_classes_per_detection=2 num_classes=1")
          .In({1, 2, 4, 1}, {0, 0, 0, 0, 5, -5, 0, 0})
          .In({1, 2, 1}, {0.25, 0.5})
          .Weight("anchors", {2, 4}, {0.5, 0.5, 1, 1, 2, 3, 4, 2})
          .Out({2, 1, 6, 3, 0, 0, 0, 0})
          .Out({0, 0})
          .Out({0.5, 0})
          .Out({1}),
      DetectionCase("wrong_scores", "max_detections=3 num_classes=2")
          .In({1, 6, 4})
          .In({1, 6, 5})
          .Const({6, 4}, Regime::kGauss)
          .Refused("expects scores [1,6,2], or one class more"),
      DetectionCase("wrong_anchors", "max_detections=3 num_classes=2")
          .In({1, 6, 4})
          .In({1, 6, 3})
          .Const({5, 4}, Regime::kGauss)
          .Refused("expects anchors [6,4]"),
      OpCase("DetectionPostProcess", "no_scale", "max_detections=1 max_classes_per_detection=1 num_classes=3")
          .Outputs(4)
          .In({1, 6, 4})
          .In({1, 6, 3})
          .Const({6, 4}, Regime::kGauss)
          .Refused("scales above 0"),
  };
}

}  // namespace plumb
