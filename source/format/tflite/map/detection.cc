// SPDX-License-Identifier: Apache-2.0
// TFLite_Detection_PostProcess, with which the SSDs of TensorFlow's object detection end.
#include "format/tflite/map/flex_options.h"
#include "format/tflite/op_context.h"

namespace plumb::tflite {

Status MapTFLite_Detection_PostProcess(OpContext& c) {
  if (c.NumInputs() != 3 || !c.Has(0) || !c.Has(1) || !c.Has(2) || c.NumOutputs() != 4)
    return Status::CorruptModel("it expects codes of boxes, scores and anchors, and gives four tensors");
  PLUMB_ASSIGN_OR_RETURN(const FlexOptions options, FlexOptions::Of(c));
  constexpr double kMost = 1 << 30;
  onnx::AttributeMap attributes;
  for (const char* name : {"max_detections", "max_classes_per_detection", "num_classes"}) {
    PLUMB_ASSIGN_OR_RETURN(const double value, options.Number(name, 1, kMost));
    attributes[name] = IntAttribute(static_cast<int64_t>(value));
  }
  for (const char* name : {"y_scale", "x_scale", "h_scale", "w_scale", "nms_score_threshold", "nms_iou_threshold"}) {
    PLUMB_ASSIGN_OR_RETURN(const double value, options.Number(name, -kMost, kMost));
    attributes[name] = FloatAttribute(static_cast<float>(value));
  }
  PLUMB_ASSIGN_OR_RETURN(const double per_class, options.NumberOr("detections_per_class", 100, 0, kMost));
  PLUMB_ASSIGN_OR_RETURN(const double regular, options.NumberOr("use_regular_nms", 0, 0, 1));
  attributes["detections_per_class"] = IntAttribute(static_cast<int64_t>(per_class));
  attributes["use_regular_nms"] = IntAttribute(regular != 0 ? 1 : 0);
  std::vector<std::string> inputs;
  for (size_t i = 0; i < 3; ++i) {
    PLUMB_ASSIGN_OR_RETURN(const std::string input, c.Real(i, Order::kFile));
    inputs.push_back(input);
  }
  const std::vector<std::string> found = c.writer().EmitOwnMany("DetectionPostProcess", inputs, 4, attributes);
  // Corners [1, n, 4], classes and scores [1, n], their number [1].
  const std::vector<int64_t> ones[] = {{3}, {2, 3}, {2, 3}, {1, 2, 3}};
  for (size_t i = 0; i < 4; ++i) {
    PLUMB_ASSIGN_OR_RETURN(const std::string axes, c.IntsConstant(ones[i]));
    if (c.OutputIndex(i) >= 0) PLUMB_RETURN_IF_ERROR(c.Set(i, c.Emit("Squeeze", {found[i], axes}), Order::kFile));
  }
  return Status::Ok();
}

}  // namespace plumb::tflite
