#include "check/judge/numeric_rules.h"

namespace plumb {

// A state that is stored in fewer bits than it was kept in is not what the next step read.
Result<Way> NumericRules::FirstWay(const Scene& scene, const StepRecord& record) const {
  Way way;
  way.arithmetic = ArithmeticFor(record.group, *scene.model);
  UseNumerics(record.info.numerics, &way.arithmetic, &way.extra);
  for (size_t i = 0; i < record.group.outputs.size(); ++i) {
    if (record.info.outputs[i].stored == DType::kF32)
      way.extra.device_outputs[record.group.outputs[i].blob] = record.device[i];
  }
  return way;
}

Result<bool> NumericRules::WiderWay(const Scene& scene, const StepRecord& record, Way* way) const {
  return UseOtherProducts(record.group, *scene.model, &way->arithmetic, &way->extra);
}

Result<bool> NumericRules::AddInputNoise(const Scene&, const LayerGroup&, const std::vector<Tensor>&,
                                         ReplayExtra*) const {
  return false;
}

Status NumericRules::WidenBound(const Scene&, const StepRecord&, ReplayResult*) const { return Status::Ok(); }

const NumericRules& RulesOf(const NumericModel& model) {
  static const NumericRules* floats = new NumericRules();
  if (model.is_half()) return HalfRules();
  return model.blobs == DType::kI8 ? GridRules() : *floats;
}

}  // namespace plumb
