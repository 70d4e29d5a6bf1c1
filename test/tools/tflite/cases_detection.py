# SPDX-License-Identifier: Apache-2.0
"""The end of an SSD: codes of boxes, scores and anchors to detections, which LiteRT has as a custom operator."""
import numpy as np
from draw import case

SCALES = {"y_scale": 10.0, "x_scale": 10.0, "h_scale": 5.0, "w_scale": 5.0}


@case("TFLite_Detection_PostProcess", 16, dtypes=("float32", "uint8"))
def detections(d):
    boxes, classes, most = d.integers(1, 60), d.integers(1, 5), d.integers(1, 12)
    per_box, regular = d.integers(1, min(3, classes)), d.pick(True, False)
    options = {**SCALES, "num_classes": classes, "max_detections": most, "max_classes_per_detection": per_box,
               "nms_score_threshold": d.pick(0.0, 0.3), "nms_iou_threshold": d.real(0.2, 0.9)}
    if regular or d.pick(True, False):
        options.update(use_regular_nms=regular, detections_per_class=d.integers(1, 8))
    codes = d.input([1, boxes, 4], -4.0, 4.0)
    scores = d.input([1, boxes, classes + d.integers(0, 1)], 0.0, 1.0)
    anchors = d.reals([boxes, 4], 0.2, 1.0)
    rows = most * per_box
    made = d.network.op("TFLite_Detection_PostProcess", [codes, scores, anchors],
                        [[1, rows, 4], [1, rows], [1, rows], [1]], count=4, options=options)
    return list(np.atleast_1d(made))
