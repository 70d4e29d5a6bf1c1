// SPDX-License-Identifier: Apache-2.0
#include "op/detection_post_process.h"

#include <fmt/core.h>

#include <algorithm>

namespace plumb {
namespace {

constexpr int64_t kMostDetections = 1 << 14;  // work grows by their number times that of the boxes

void ResourcesDetection(ResourceVisitor& v, const Layer&) {
  v.Name();
  v.Raw("anchors");
}

Status SpecsDetection(const Layer&, const std::vector<BlobInfo>& inputs, std::vector<ResourceSpec>* specs) {
  if (inputs.size() < 3) specs->push_back({"anchors", {inputs[0].shape.DimOrOne(1), 4}, ResourceSpec::kPositive});
  return Status::Ok();
}

Status InferDetection(ShapeContext& context) {
  for (const BlobInfo& input : context.inputs) {
    if (input.dtype != context.inputs[0].dtype || !IsFloat(input.dtype))
      return Status::InvalidArgument(fmt::format("expects floats of one type, found {}", DTypeName(input.dtype)));
  }
  PLUMB_ASSIGN_OR_RETURN(const DetectionShape s, ResolveDetection(context.layer, context.inputs));
  context.SetAll(context.inputs[0].dtype, {1, s.rows, 1, 1});
  context.outputs[0].shape = {1, s.rows, 4, 1};
  context.outputs[3].shape = {1, 1, 1, 1};
  return Status::Ok();
}

double FlopsDetection(const Layer& layer, const std::vector<BlobInfo>& inputs, const std::vector<BlobInfo>&) {
  const auto s = ResolveDetection(layer, inputs);
  return s.ok() ? static_cast<double>(s->boxes) * static_cast<double>(s->columns + 16 * s->most) : 0;
}

}  // namespace

void DetectionPostProcessParam::Visit(ParamVisitor& v) {
  v.Int("max_detections", max_detections);
  v.Int("max_classes_per_detection", max_classes_per_detection);
  v.Int("detections_per_class", detections_per_class);
  v.Bool("use_regular_nms", use_regular_nms);
  v.Float("nms_score_threshold", nms_score_threshold);
  v.Float("nms_iou_threshold", nms_iou_threshold);
  v.Int("num_classes", num_classes);
  v.Float("y_scale", y_scale);
  v.Float("x_scale", x_scale);
  v.Float("h_scale", h_scale);
  v.Float("w_scale", w_scale);
  v.Bool("has_anchors", has_anchors);
  v.Int("num_anchors", num_anchors);
  v.Int("anchors_coord_num", anchors_coord_num);
}

Result<DetectionShape> ResolveDetection(const Layer& layer, const std::vector<BlobInfo>& inputs) {
  const auto& p = ParamOf<DetectionPostProcessParam>(layer);
  const Shape &codes = inputs[0].shape, &scores = inputs[1].shape;
  DetectionShape s;
  s.boxes = codes.DimOrOne(1);
  s.codes = codes.rank() < 3 ? 0 : codes.CountFrom(2);
  if (codes.DimOrOne(0) != 1 || s.codes < 4)
    return Status::InvalidArgument(fmt::format("expects codes [1,boxes,4], found {}", codes.ToString()));
  s.columns = scores.rank() < 3 ? 0 : scores.CountFrom(2);
  s.classes = p.num_classes;
  s.offset = s.columns - s.classes;
  if (scores.DimOrOne(0) != 1 || scores.DimOrOne(1) != s.boxes || s.classes < 1 || s.offset < 0 || s.offset > 1) {
    return Status::InvalidArgument(
        fmt::format("expects scores [1,{},{}], or one class more of them for the background, found {}", s.boxes,
                    s.classes, scores.ToString()));
  }
  const Tensor* anchors = layer.Resource("anchors");
  if (inputs.size() > 2 ? inputs[2].shape.NumElements() != 4 * s.boxes
                        : anchors != nullptr && anchors->NumElements() != 4 * s.boxes)
    return Status::InvalidArgument(fmt::format("expects anchors [{},4]", s.boxes));
  if (p.max_detections < 1 || p.max_classes_per_detection < 1 || p.max_detections > kMostDetections ||
      p.max_classes_per_detection > kMostDetections / p.max_detections) {
    return Status::InvalidArgument(fmt::format("expects at least one and at most {} detections, found {} of {} classes",
                                               kMostDetections, p.max_detections, p.max_classes_per_detection));
  }
  for (const float scale : {p.y_scale, p.x_scale, p.h_scale, p.w_scale}) {
    if (!(scale > 0)) return Status::InvalidArgument(fmt::format("expects scales above 0, found {}", scale));
  }
  if (p.use_regular_nms && p.detections_per_class < 1)
    return Status::InvalidArgument(
        fmt::format("expects at least one detection per class, found {}", p.detections_per_class));
  s.most = p.max_detections;
  s.per_box = p.use_regular_nms ? 1 : std::min<int64_t>(p.max_classes_per_detection, s.classes);
  s.rows = s.most * p.max_classes_per_detection;
  s.per_class = std::min<int64_t>(p.detections_per_class, s.boxes);
  return s;
}

OpDef DefineDetectionPostProcess() {
  OpDef op;
  op.make_param = MakeParam<DetectionPostProcessParam>;
  op.infer = InferDetection;
  op.visit_resources = ResourcesDetection;
  op.resource_specs = SpecsDetection;
  op.flops = FlopsDetection;
  return op;
}

}  // namespace plumb
