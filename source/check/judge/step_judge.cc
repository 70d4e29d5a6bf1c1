// SPDX-License-Identifier: Apache-2.0
#include "check/judge/step_judge.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "check/core/metrics.h"
#include "check/core/step_budget.h"
#include "check/judge/judge.h"
#include "check/judge/picture.h"
#include "check/judge/softmax_rows.h"
#include "check/judge/stored_output.h"
#include "check/numbers/weight_formats.h"
#include "reference/sum/products.h"

namespace plumb {
namespace {

bool Picks(const LayerGroup& group) {
  return std::any_of(group.members.begin(), group.members.end(),
                     [](const Layer* l) { return GetReferenceOp(l->kind).picks; });
}

bool RoundsOnce(const LayerGroup& group) {
  return std::count_if(group.members.begin(), group.members.end(),
                       [](const Layer* l) { return l->kind == OpKind::kPlumbQuantizeLinear; }) == 1;
}

// A function of one variable, element by element; or a recurrent layer, whose gates hold its outputs at their ends.
bool RepeatsErrors(const LayerGroup& group) {
  if (group.members.size() != 1) return false;
  switch (group.first().kind) {
    case OpKind::kPlumbLSTM:
    case OpKind::kPlumbGRU:
    case OpKind::kPlumbRNN: return true;
#define PLUMB_UNARY(name, ...) case OpKind::k##name:
#include "op/unary.def"
#undef PLUMB_UNARY
      return group.inputs.size() == 1;
    default: return false;
  }
}

void SayOfWay(const Way& way, LayerReport* report) {
  if (!way.note.empty()) report->reason += (report->reason.empty() ? "" : "; ") + way.note;
}

// What follows from an infinity is unknown: no bound.
void LeaveOutInfinities(ReplayResult* replay) {
  for (size_t o = 0; o < replay->tau.size(); ++o) {
    const Tensor& values = replay->values[o];
    if (values.dtype() != DType::kF64 || replay->tau[o].dtype() != DType::kF64) continue;
    for (int64_t i = 0; i < values.NumElements(); ++i) {
      if (!std::isfinite(values.data<double>()[i])) replay->tau[o].data<double>()[i] = INFINITY;
    }
  }
}

// Eight times a factor or an offset that all values of an output share, relative to the largest, in quadrature.
void AddSharedError(double relative, ReplayResult* replay) {
  for (size_t o = 0; o < replay->tau.size(); ++o) {
    const Tensor& values = replay->values[o];
    if (values.dtype() != DType::kF64 || replay->tau[o].dtype() != DType::kF64) continue;
    const double shared = 8 * relative * ValuesRange(values).largest();
    double* tau = replay->tau[o].data<double>();
    for (int64_t i = 0; i < values.NumElements(); ++i) tau[i] = std::hypot(tau[i], shared);
  }
}

}  // namespace

Status StepJudge::Judge(const OwnInputs& own, StepRecord* record) const {
  const size_t layers = record->group.members.size();
  double seconds = 0;
  {
    const StepBudget budget(layers);
    const Status judged = JudgeStep(own, record);
    if (!budget.spent()) return judged;
    seconds = budget.seconds();
  }
  record->replay = {};
  LayerReport& report = record->report;
  report.outputs.clear();
  report.verdict = Verdict::kNotTested;
  report.cause.clear();
  report.reason = fmt::format(
      "{} layers in one step, given up after {:g} s (PLUMB_STEP_SECONDS); dump tensors between them", layers, seconds);
  return own.known ? own_->Run(record->group, own.values, *scene_->blobs) : Status::Ok();
}

Status StepJudge::JudgeStep(const OwnInputs& own, StepRecord* record) const {
  LayerReport* report = &record->report;
  const std::string unbounded = rules().WhyUnbounded(record->group);
  if (!unbounded.empty()) {
    if (own.known) PLUMB_RETURN_IF_ERROR(own_->Run(record->group, own.values, *scene_->blobs));
    return JudgeValues(*record, unbounded, report, &record->replay);
  }
  PLUMB_ASSIGN_OR_RETURN(const Way first, rules().FirstWay(*scene_, *record));
  PLUMB_RETURN_IF_ERROR(JudgeBy(*record, first, own, report, &record->replay));
  SayOfWay(first, report);
  if (!record->is_off()) return Status::Ok();
  PLUMB_ASSIGN_OR_RETURN(const std::vector<Way> others, rules().OtherWays(*scene_, *record, first));
  for (const Way& way : others) {
    LayerReport tried;
    ReplayResult replay;
    const Status judged = JudgeBy(*record, way, &tried, &replay);
    if (!judged.ok() || replay.tau.empty()) continue;  // only where errors can be followed
    const bool last = &way == &others.back();          // the widest
    if (tried.verdict > Verdict::kNotTested && !last) continue;
    report->verdict = tried.verdict;
    report->reason = tried.reason;
    SayOfWay(way, report);
    report->cause = tried.cause;
    report->outputs = std::move(tried.outputs);
    record->replay = std::move(replay);
    break;
  }
  return Status::Ok();
}

Result<ReplayResult> StepJudge::ReplayFirst(const StepRecord& record, const Way& way, const OwnInputs& own) const {
  ReplayBeside beside{own.values, {}};
  const bool runs = own.known && !own.are_the_device_s, with = runs && way.extra.is_plain();
  auto replay = ReplayWithBound(record.group, record.inputs, *scene_->blobs, way.arithmetic, 0, way.extra,
                                with ? &beside : nullptr);
  if (runs && (!with || !replay.ok())) {
    PLUMB_RETURN_IF_ERROR(own_->Run(record.group, own.values, *scene_->blobs));
  } else if (with) {
    own_->Take(record.group, beside.values);
  } else if (own.known && replay.ok()) {
    own_->Take(record.group, replay->values);
  }
  return replay;
}

Status StepJudge::JudgeBy(const StepRecord& record, const Way& way, LayerReport* report, ReplayResult* replay) const {
  return JudgeBy(record, way, {}, report, replay);
}

Status StepJudge::JudgeBy(const StepRecord& record, const Way& way, const OwnInputs& own, LayerReport* report,
                          ReplayResult* replay) const {
  const int max_level = rules().MaxLevel(record);
  std::vector<Tensor> steady;
  for (int level = 0; level <= max_level; ++level) {
    auto bounded = level == 0
                       ? ReplayFirst(record, way, own)
                       : ReplayWithBound(record.group, record.inputs, *scene_->blobs, way.arithmetic, level, way.extra);
    if (!bounded.ok() && bounded.status().code() == StatusCode::kNotSupported && record.group.members.size() > 1)
      return JudgeValues(record, bounded.status().message(), report, replay);
    if (!bounded.ok()) return bounded.status();
    PLUMB_RETURN_IF_ERROR(rules().WidenBound(*scene_, record, &*bounded));
    if (way.infinities_unknown) LeaveOutInfinities(&*bounded);
    if (way.shared > 0) AddSharedError(way.shared, &*bounded);
    if (level == reference::kMaxSumLevel) steady = std::move(replay->tau);
    PLUMB_RETURN_IF_ERROR(JudgeOutputs(record, *bounded, level, report, steady, way.stored));
    *replay = std::move(*bounded);
    if (report->verdict <= Verdict::kNotTested) break;  // a wider bound would not change that
  }
  return Status::Ok();
}

Result<OutputReport> StepJudge::JudgeOutput(const StepRecord& record, const ReplayResult& replay, int level, size_t i,
                                            const Tensor* steady, DType stored_as) const {
  PortInfo port = record.info.outputs[i];
  if (stored_as != DType::kF32) port.stored = stored_as;
  const Tensor& device = record.device[i];
  OutputReport output;
  output.blob = port.blob;
  output.slot = port.slot;
  output.dtype = device.dtype();
  output.shape = device.shape();
  output.layout = port.layout;
  output.level = level;
  Tensor reference = replay.values[i], tau = replay.tau[i];
  PLUMB_ASSIGN_OR_RETURN(const StoredOutput stored, StoredOutput::Take(record.group, port, device, &reference, &tau));
  const bool as_replayed = tau.raw() == replay.tau[i].raw();
  const JudgeInput judged = {device,
                             reference,
                             tau,
                             stored.HasSlopeTest(record.group),
                             record.inputs_finite,
                             stored.grid_step(),
                             as_replayed ? steady : nullptr,
                             Picks(record.group),
                             RoundsOnce(record.group),
                             RepeatsErrors(record.group)};
  plumb::Judge(judged, &output);
  if (picture_cells_ > 0) {
    const int channels = output.verdict >= Verdict::kGrey ? 4 : 1;
    output.picture = std::make_shared<const ErrorPicture>(DrawErrors(judged, picture_cells_, channels));
  }
  stored.JudgeSides(record, *scene_->blobs, replay, i, &output);
  stored.AddTo(&output);
  const bool floats = port.stored != DType::kI8;  // a uniform weight may be below half a step of its grid
  const int64_t lost = floats ? CountLostRows(record.group, record.group.outputs[i], device, reference) : 0;
  if (lost > 0) {
    output.verdict = Verdict::kWrong;
    output.reason = fmt::format("{} rows are 0 everywhere, the reference's weights add up to 1 in each", lost);
  }
  const Tensor* own = own_->Find(output.blob);
  if (own != nullptr) {
    const Differences differences = CompareThree(device, replay.values[i], *own);
    output.introduced = differences.introduced;
    output.inherited = differences.inherited;
    output.total = differences.total;
  } else {
    output.introduced = CompareTensors(device, replay.values[i]);
  }
  CompareGolden(device, &output);
  return output;
}

Status StepJudge::JudgeOutputs(const StepRecord& record, const ReplayResult& replay, int level, LayerReport* report,
                               const std::vector<Tensor>& steady, DType stored_as) const {
  report->outputs.clear();
  report->verdict = Verdict::kAligned;
  report->reason.clear();
  report->cause.clear();
  bool tested = false;
  for (size_t i = 0; i < record.device.size(); ++i) {
    PLUMB_ASSIGN_OR_RETURN(OutputReport output,
                           JudgeOutput(record, replay, level, i, i < steady.size() ? &steady[i] : nullptr, stored_as));
    tested = tested || output.verdict != Verdict::kNotTested;
    report->outputs.push_back(std::move(output));
  }
  const OutputReport* worst = report->Worst();
  if (worst == nullptr) return Status::Ok();
  report->verdict = tested && worst->verdict == Verdict::kNotTested ? Verdict::kAligned : worst->verdict;
  report->reason = worst->reason;
  report->cause = worst->one_sided;
  return Status::Ok();
}

void StepJudge::CompareGolden(const Tensor& device, OutputReport* output) const {
  if (golden_ == nullptr || !golden_->Has(output->blob)) return;
  GoldenReport& golden = output->golden;
  const auto value = golden_->Load(output->blob);
  if (!value.ok() || value->shape() != device.shape()) {
    golden.reason =
        value.ok() ? fmt::format("shape {} in the golden", value->shape().ToString()) : value.status().message();
    return;
  }
  golden.compared = true;
  golden.device = CompareTensors(device, *value);
  const Tensor* own = own_->Find(output->blob);
  if (own != nullptr) golden.naive = CompareTensors(*own, *value);
}

}  // namespace plumb
