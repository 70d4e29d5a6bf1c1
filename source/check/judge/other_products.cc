// SPDX-License-Identifier: Apache-2.0
#include "check/judge/other_products.h"

#include <algorithm>

#include "check/judge/narrow_products.h"
#include "check/numbers/half_storage.h"
#include "check/numbers/winograd_spread.h"
#include "reference/sum/winograd.h"

namespace plumb {
namespace {

// By what a step speaks for its like: its product; where each operation is rounded, its last layer without one.
std::string SpeakerOf(const LayerGroup& group, const NumericModel& model) {
  const std::string product = ProductOf(group);
  return product.empty() && model.products.accumulator != DType::kF32 ? group.last().type : product;
}

// Whether every float result of the step stands in the format.
bool StandsIn(DType format, const StepRecord& record) {
  return std::all_of(record.device.begin(), record.device.end(), [&](const Tensor& output) {
    return output.dtype() == DType::kF32 && IsStoredAs(format, HalfValuesOf(output));
  });
}

// Whether the step is aligned by the model's way to compute products.
bool TryProduct(const StepRecord& record, const StepJudge& judge, const NumericModel& model, LayerReport* tried) {
  plumb::Way way;
  way.arithmetic = ArithmeticFor(record.group, model);
  UseOtherProducts(record.group, model, &way.arithmetic, &way.extra);
  // What rounds its operands may store its result so, too, layer by layer (OpenVINO's first convolution in bf16).
  if (!model.is_half() && model.products.storage != DType::kF32 && StandsIn(model.products.storage, record))
    way.stored = model.products.storage;
  ReplayResult replay;
  const auto aligned = [&] {
    return judge.JudgeBy(record, way, tried, &replay).ok() && tried->verdict == Verdict::kAligned;
  };
  if (aligned()) return true;
  way.extra.rounds_bias = way.stored != DType::kF32;  // oneDNN, which then takes the bias in the result's format
  return way.extra.rounds_bias && aligned();
}

}  // namespace

std::string OtherProducts::Way::OperatorOf(const LayerGroup& group, bool makes_integers) const {
  const NumericModel& model = evidence.model();
  const bool winograd = model.products.algorithm == Numerics::kWinograd;
  if (winograd ? !plumb::MayBeWinograd(group) : makes_integers) return "";
  return SpeakerOf(group, model);
}

OtherProducts OtherProducts::Of(const NumericModel& model) {
  OtherProducts products;
  if (model.is_half()) {
    products.ways_.push_back({ProductEvidence(RoundingEachSum(model)), {}});
    return products;
  }
  for (const SubjectArithmetic other :
       {SubjectArithmetic::kWinograd, SubjectArithmetic::kF16Products, SubjectArithmetic::kBf16Products})
    products.ways_.push_back({ProductEvidence(ModelOf(other)), {}});
  return products;
}

bool OtherProducts::PutOff(const StepRecord& record, const StepJudge& judge, size_t position) {
  const bool beyond = record.is_off() && record.report.cause.empty();
  beyond_ += beyond;
  if (record.report.verdict == Verdict::kNotTested) return false;
  const bool trial = beyond && record.may_be_explained();
  bool any = false;
  for (Way& way : ways_) {
    const std::string type = way.OperatorOf(record.group, MakesIntegers(record));
    if (type.empty()) continue;
    LayerReport tried = record.report;
    const bool explained =
        trial && !way.evidence.hopeless(beyond_) && TryProduct(record, judge, way.evidence.model(), &tried);
    way.evidence.Note(type, beyond, explained);
    if (explained) way.waiting.emplace(position, std::move(tried));
    any = any || explained;
  }
  return any;
}

void OtherProducts::NoteKept(const LayerGroup& group, const LayerReport& report) {
  if (report.verdict == Verdict::kNotTested) return;
  const bool integers =
      !report.outputs.empty() && std::none_of(report.outputs.begin(), report.outputs.end(),
                                              [](const OutputReport& output) { return IsFloat(output.dtype); });
  for (Way& way : ways_) {
    const std::string type = way.OperatorOf(group, integers);
    if (!type.empty()) way.evidence.Note(type, false, false);
  }
}

const LayerReport* OtherProducts::AsWinograd(size_t position) const {
  for (const Way& way : ways_) {
    const auto waiting = way.waiting.find(position);
    if (way.evidence.model().products.algorithm == Numerics::kWinograd && waiting != way.waiting.end())
      return &waiting->second;
  }
  return nullptr;
}

bool OtherProducts::OneMayBeWinograd() const {
  return std::any_of(ways_.begin(), ways_.end(), [](const Way& way) {
    return way.evidence.model().products.algorithm == Numerics::kWinograd && way.evidence.possible() == 1;
  });
}

bool OtherProducts::IsSpreadAsWinograd(const StepRecord& record, const BlobTable& blobs) {
  std::vector<Numerics> forms = {ModelOf(SubjectArithmetic::kWinograd).products};
  for (const WinogradForm& form : reference::UsualWinogradForms())
    forms.push_back(Numerics::Winograd(form.m, form.points));
  return std::any_of(forms.begin(), forms.end(), [&](const Numerics& form) {
    plumb::Way way;
    way.arithmetic = ArithmeticFor(record.group, ModelOf(SubjectArithmetic::kWinograd));
    UseNumerics(form, &way.arithmetic, &way.extra);
    const auto replay =
        ReplayWithBound(record.group, record.inputs, blobs, way.arithmetic, MaxBoundLevel(record.group), way.extra);
    if (!replay.ok()) return false;
    for (size_t o = 0; o < record.device.size(); ++o) {
      const WinogradErrors errors{record.device[o], replay->values[o], record.replay.tau[o], replay->tau[o]};
      if (record.report.outputs[o].verdict >= Verdict::kGrey && !SpreadAsWinograd(errors)) return false;
    }
    return true;
  });
}

std::vector<size_t> OtherProducts::Settle(const std::vector<const StepInfo*>& steps, RunReport* run) const {
  const Way* found = nullptr;
  for (const Way& way : ways_) {
    const bool more = found == nullptr || way.evidence.explained() > found->evidence.explained();
    if (way.evidence.found(beyond_) && more) found = &way;
  }
  std::map<size_t, const LayerReport*> settled;  // null: as it was judged
  for (const Way& way : ways_) {
    for (const auto& [position, layer] : way.waiting) {
      const bool adopted =
          &way == found && found->evidence.adopts(SpeakerOf(GroupOf(*steps[position]), found->evidence.model()));
      const LayerReport*& chosen = settled[position];
      if (adopted) chosen = &layer;
    }
  }
  std::vector<size_t> left;
  for (const auto& [position, layer] : settled) {
    if (layer != nullptr) {
      run->layers[position] = *layer;
    } else {
      left.push_back(position);
    }
  }
  if (found == nullptr) return left;
  run->found_arithmetic = found->evidence.model().arithmetic;
  run->found_because = found->evidence.Because(beyond_);
  for (ComputedAs& computed : found->evidence.Computed()) run->computed_as.push_back(std::move(computed));
  return left;
}

}  // namespace plumb
