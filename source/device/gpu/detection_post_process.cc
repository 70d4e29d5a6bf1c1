// SPDX-License-Identifier: Apache-2.0
// DetectionPostProcess: a round picks the best free box of each class and takes away what overlaps it; then the picks
// of all classes are put into their places.
#include "op/detection_post_process.h"

#include <algorithm>

#include "device/gpu/kernel_list.h"

namespace plumb::gpu {
namespace {

Result<Port> AnchorsOf(Plan* plan) {
  if (plan->has(2)) {
    PLUMB_RETURN_IF_ERROR(plan->RequireF32(2));
    return plan->In(2, "real");
  }
  const Tensor* anchors = plan->layer().Resource("anchors");
  if (anchors == nullptr) return Status::InvalidArgument("it has no anchors");
  const float* values = anchors->data<float>();
  return plan->Floats({values, values + anchors->NumElements()});
}

}  // namespace

Status plan_detection_post_process(Plan* plan) {
  PLUMB_RETURN_IF_ERROR(plan->RequireF32(0));
  PLUMB_ASSIGN_OR_RETURN(const DetectionShape s, ResolveDetection(plan->layer(), plan->spec.inputs));
  const auto& p = ParamOf<DetectionPostProcessParam>(plan->layer());
  const int64_t classes = p.use_regular_nms ? s.classes : 1;
  const int64_t picked = p.use_regular_nms ? s.per_class : std::min(s.most, s.boxes);  // of a class
  const int64_t candidates = p.use_regular_nms ? classes * picked : picked * s.per_box, items = classes * s.boxes;
  PLUMB_RETURN_IF_ERROR(plan->RequireRounds(std::max({s.boxes, candidates, s.columns * s.columns})));
  PLUMB_ASSIGN_OR_RETURN(const Port anchors, AnchorsOf(plan));
  const Port corners = plan->Scratch(4 * s.boxes, "f32"), score = plan->Scratch(items, "f32");
  const Port free = plan->Scratch(items, "i32"), picks = plan->Scratch(classes * picked, "i32");
  const Port places = plan->Scratch(candidates, "i32"), columns = plan->Scratch(candidates, "i32");
  const Port scores = plan->In(1, "real");
  plan->Add("detection_decode_" + anchors.type, s.boxes, {corners, plan->In(0, "real"), anchors})
      .Int(s.codes)
      .Float(p.y_scale)
      .Float(p.x_scale)
      .Float(p.h_scale)
      .Float(p.w_scale);
  plan->Add("detection_score", items, {score, free, scores})
      .Ints({s.boxes, s.columns, s.offset, p.use_regular_nms}, 4)
      .Float(p.nms_score_threshold);
  for (int64_t round = 0; round < picked; ++round) {
    plan->Add("detection_pick", classes, {picks, score, free}).Ints({s.boxes, picked, round}, 3);
    plan->Add("detection_drop", items, {free, picks, corners})
        .Ints({s.boxes, picked, round}, 3)
        .Float(p.nms_iou_threshold);
  }
  if (p.use_regular_nms) {
    plan->Add("detection_rank_all", candidates, {places, columns, picks, scores})
        .Ints({candidates, picked, s.columns, s.offset}, 4);
  } else {
    plan->Add("detection_rank_best", candidates, {places, columns, picks, scores})
        .Ints({s.per_box, s.columns, s.offset}, 3);
  }
  plan->Add("detection_write", s.rows,
            {plan->Out(0, "real"), plan->Out(1, "real"), plan->Out(2, "real"), plan->Out(3, "real"), places, columns,
             picks, corners, scores})
      .Ints({candidates, s.per_box, s.most * s.per_box, s.columns, s.offset}, 5);
  return Status::Ok();
}

}  // namespace plumb::gpu
