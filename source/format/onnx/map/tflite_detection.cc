// SPDX-License-Identifier: Apache-2.0
// TFLite_Detection_PostProcess: DetectionPostProcess, whose parameters are the attributes of the same names.
#include "format/onnx/map/attribute_params.h"
#include "op/detection_post_process.h"

namespace plumb::onnx {

Status MapTfliteDetectionPostProcess(NodeContext& c) {
  constexpr size_t kOutputs = 4;
  auto param = std::make_shared<DetectionPostProcessParam>();
  AttributeParams attributes(c);
  param->Visit(attributes);
  PLUMB_ASSIGN_OR_RETURN(const std::vector<Value> found,
                         c.EmitMany({OpKind::kDetectionPostProcess, param, {c.In(0), c.In(1), c.In(2)}, {}, kOutputs}));
  for (size_t i = 0; i < kOutputs; ++i) {
    if (c.Wants(i)) c.Set(i, found[i]);
  }
  return Status::Ok();
}

}  // namespace plumb::onnx
