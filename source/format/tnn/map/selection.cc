// SPDX-License-Identifier: Apache-2.0
// What chooses places by values.
#include "op/selection.h"
#include "format/tnn/translate.h"

namespace plumb::tnn {
namespace {

struct SuppressionParam : ParamBase<SuppressionParam> {
  int center_point_box = 0, most = 0;
  float iou_threshold = 0, score_threshold = 0;
  void Visit(ParamVisitor& v) override {
    v.Int("center_point_box", center_point_box);
    v.Int("max_output_boxes_per_class", most);
    v.Float("iou_threshold", iou_threshold);
    v.Float("score_threshold", score_threshold);
  }
};

Status TranslateSuppression(LineLayers* layers) {
  PLUMB_RETURN_IF_ERROR(layers->ExpectInputs(2, 2, "boxes and scores"));
  const auto& p = ParamOf<SuppressionParam>(layers->line());
  PLUMB_ASSIGN_OR_RETURN(const std::string most, layers->Scalar("most", DType::kI64, p.most));
  PLUMB_ASSIGN_OR_RETURN(const std::string iou, layers->Scalar("iou", DType::kF32, p.iou_threshold));
  PLUMB_ASSIGN_OR_RETURN(const std::string score, layers->Scalar("score", DType::kF32, p.score_threshold));
  std::vector<std::string> inputs = layers->line().inputs;
  inputs.push_back(most);
  inputs.push_back(iou);
  inputs.push_back(score);
  const std::string chosen = layers->Name("chosen");
  layers->Add(OpKind::kPlumbNonMaxSuppression, inputs, {chosen},
              ParamWith<NonMaxSuppressionParam>(
                  [&](NonMaxSuppressionParam* q) { q->center_point_box = p.center_point_box != 0; }));
  layers->AddAsInt32(chosen);
  return Status::Ok();
}

Status TranslateNonZero(LineLayers* layers) {
  PLUMB_RETURN_IF_ERROR(layers->ExpectInputs(1, 1, "one input"));
  const std::string places = layers->Name("places");
  layers->Add(OpKind::kPlumbNonZero, layers->line().inputs, {places});
  layers->AddAsInt32(places);
  return Status::Ok();
}

}  // namespace

Translation NonMaxSuppressionTranslation() { return {MakeParam<SuppressionParam>, TranslateSuppression}; }
Translation NonZeroTranslation() { return {MakeParam<NoParam>, TranslateNonZero}; }

}  // namespace plumb::tnn
