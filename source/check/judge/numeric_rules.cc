// SPDX-License-Identifier: Apache-2.0
#include "check/judge/numeric_rules.h"

#include "check/numbers/int8.h"

namespace plumb {

// A state that is stored in fewer bits than it was kept in is not what the next step read.
Result<Way> NumericRules::FirstWay(const Scene& scene, const StepRecord& record) const {
  Way way;
  way.arithmetic = ArithmeticFor(record.group, *scene.model);
  way.arithmetic.any_integer_of_nan = static_cast<bool>(scene.earlier);
  UseNumerics(record.info.numerics, &way.arithmetic, &way.extra);
  for (size_t i = 0; i < record.group.outputs.size(); ++i) {
    if (record.info.outputs[i].stored == DType::kF32)
      way.extra.device_outputs[record.group.outputs[i].blob] = record.device[i];
  }
  return way;
}

Result<std::vector<Way>> NumericRules::OtherWays(const Scene& scene, const StepRecord& record, const Way& first) const {
  Way way = first;
  PLUMB_ASSIGN_OR_RETURN(const bool any, AddInputNoise(scene, record.group, record.inputs, &way.extra));
  if (any) way.shared = 0x1p-22;
  const bool other = UseOtherProducts(record.group, *scene.model, &way.arithmetic, &way.extra);
  if (!any && !other) return std::vector<Way>();
  return std::vector<Way>{std::move(way)};
}

// A foreign runtime makes reals of integers where they are read, by an FMA or with other factors; what it hands out is
// computed once more (OpenVINO).
Result<bool> NumericRules::AddInputNoise(const Scene& scene, const LayerGroup& group, const std::vector<Tensor>& inputs,
                                         ReplayExtra* extra) const {
  if (!scene.earlier) return false;
  for (size_t i = 0; i < group.inputs.size(); ++i) {
    const std::string& blob = group.inputs[i].blob;
    if (inputs[i].dtype() != DType::kF64 || DequantizerOf(scene, blob) == nullptr) continue;
    PLUMB_ASSIGN_OR_RETURN(extra->input_tau[blob], DequantisingNoise(inputs[i]));
  }
  return !extra->input_tau.empty();
}

Status NumericRules::WidenBound(const Scene&, const StepRecord&, ReplayResult*) const { return Status::Ok(); }

const NumericRules& RulesOf(const NumericModel& model) {
  static const NumericRules* floats = new NumericRules();
  if (model.is_half()) return HalfRules();
  return model.blobs == DType::kI8 ? GridRules() : *floats;
}

}  // namespace plumb
