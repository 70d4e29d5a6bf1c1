#include "check/judge/lockstep.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "check/cause/accumulator.h"
#include "check/cause/signature.h"
#include "check/judge/inspect.h"
#include "check/judge/judge.h"
#include "check/judge/metrics.h"
#include "check/judge/storage.h"
#include "check/report/coverage.h"
#include "check/subject/arithmetic.h"
#include "check/subject/int8.h"

namespace plumb {
namespace {

bool IsHalf(DType stored) { return stored == DType::kF16 || stored == DType::kBF16; }

bool IsConvolution(const Layer* layer) {
  return layer->kind == OpKind::kConvolution || layer->kind == OpKind::kConvolution1D;
}

// The slope test was measured on convolutions only, one at a time.
bool HasSlopeTest(const LayerGroup& group) {
  return IsConvolution(group.members.front()) &&
         std::count_if(group.members.begin(), group.members.end(), IsConvolution) == 1;
}

bool Picks(const LayerGroup& group) {
  return std::any_of(group.members.begin(), group.members.end(),
                     [](const Layer* l) { return GetReferenceOp(l->kind).picks; });
}

}  // namespace

Status Lockstep::Begin(Scene scene, const std::map<std::string, Tensor>& inputs) {
  scene_ = std::move(scene);
  report_.device = scene_.device;
  report_.device_description = scene_.description;
  report_.precision = scene_.precision;
  report_.has_golden = options_.golden != nullptr;
  report_.only_named_layers = !options_.layers.empty();
  PLUMB_RETURN_IF_ERROR(CheckLayerNames(options_.layers, scene_.steps));
  options_.inherited = options_.inherited && options_.layers.empty();
  for (const StepInfo* step : scene_.steps) {
    for (const PortInfo& port : step->inputs) ++readers_[port.blob];
  }
  for (const std::string& output : scene_.graph->outputs) ++readers_[output];
  for (const StepInfo* step : scene_.steps) {
    for (const PortInfo& port : step->outputs) {
      if (IsHalf(port.stored)) storage_ = port.stored;
    }
  }
  if (scene_.earlier) fused_ = FusedGroups(*scene_.graph, *scene_.blobs);
  if (options_.find_products && scene_.earlier) {
    for (const SubjectArithmetic other :
         {SubjectArithmetic::kWinograd, SubjectArithmetic::kF16Products, SubjectArithmetic::kBf16Products})
      products_.push_back({ProductEvidence(other), {}});
  }
  for (const auto& [name, value] : inputs) PLUMB_RETURN_IF_ERROR(NoteWritten(name, value));
  return SetOwnInputs(inputs);
}

// A blob that is stored as f32 here and as f16 there (a network input, a layer that fell back) is the same blob when
// its rounded values agree.
Status Lockstep::NoteWritten(const std::string& blob, const Tensor& value) {
  written_[blob] = {Fingerprint(value), Fingerprint(value)};
  seen_.emplace(written_[blob].first, blob);
  if (storage_ == DType::kF32) return Status::Ok();
  PLUMB_ASSIGN_OR_RETURN(const Tensor rounded, RoundedTo(storage_, value));
  written_[blob].second = Fingerprint(rounded);
  return Status::Ok();
}

Status Lockstep::SetOwnInputs(const std::map<std::string, Tensor>& inputs) {
  for (const auto& [name, value] : inputs) {
    PLUMB_ASSIGN_OR_RETURN(own_[name], Widened(value));
  }
  return Status::Ok();
}

bool Lockstep::IsNamed(const StepInfo& step) const {
  const auto holds = [&](const std::string& name) { return HoldsLayer(step, name); };
  return options_.layers.empty() || std::any_of(options_.layers.begin(), options_.layers.end(), holds);
}

Status Lockstep::Before(const LayerEvent& event) {
  if (!IsNamed(event.step())) return Status::Ok();
  inputs_.clear();
  inputs_finite_ = true;
  changed_.clear();
  for (size_t i = 0; i < event.step().inputs.size(); ++i) {
    const PortInfo& port = event.step().inputs[i];
    if (port.constant) {
      PLUMB_ASSIGN_OR_RETURN(Tensor value, Widened(scene_.blobs->at(port.blob).value));
      if (IsHalf(port.stored) && port.dtype == DType::kF32) {
        PLUMB_ASSIGN_OR_RETURN(value, RoundedTo(port.stored, value));
      }
      inputs_.push_back(std::move(value));
      continue;
    }
    PLUMB_ASSIGN_OR_RETURN(const Tensor value, event.Input(i));
    PLUMB_ASSIGN_OR_RETURN(Inspected inspected, Inspect(value));
    const auto it = written_.find(port.blob);
    if (it != written_.end() && it->second.first != inspected.fingerprint &&
        it->second.second != inspected.fingerprint) {
      changed_ = port.blob;
    }
    seen_.emplace(inspected.fingerprint, port.blob);
    inputs_finite_ = inputs_finite_ && inspected.finite;
    inputs_.push_back(std::move(inspected.wide));
  }
  return Status::Ok();
}

Status Lockstep::After(const LayerEvent& event) {
  if (!IsNamed(event.step())) {  // what it wrote must still be what a step that is judged reads
    for (size_t i = 0; i < event.step().outputs.size(); ++i) {
      PLUMB_ASSIGN_OR_RETURN(const Tensor output, event.Output(i));
      PLUMB_RETURN_IF_ERROR(NoteWritten(event.step().outputs[i].blob, output));
    }
    Release(event.step());
    return Status::Ok();
  }
  LayerReport layer;
  layer.step = event.step();
  layer.step.group = nullptr;
  layer.device_seconds = event.seconds();
  const Status status = JudgeStep(event, &layer);
  if (!status.ok()) {
    layer.verdict = Verdict::kNotTested;
    layer.reason = status.message();
  }
  ExplainAsFused(event.step(), &layer);
  Status handed_over;
  if (!PutOffAsProduct(event.step(), layer)) {
    NameCause(event.step(), &layer);
    if (layer.cause.empty()) DescribeWrong(&layer);
    handed_over = HandOverWrong(layer);
  }
  Release(event.step());
  device_.clear();
  replayed_ = {};
  report_.layers.push_back(std::move(layer));
  inputs_.clear();
  return handed_over;
}

void Lockstep::Skip(const StepInfo& step, Verdict verdict, const std::string& reason) {
  LayerReport layer;
  layer.step = step;
  layer.step.group = nullptr;
  layer.verdict = verdict;
  layer.reason = reason;
  inputs_.assign(step.inputs.size(), Tensor());
  for (size_t i = 0; i < step.inputs.size(); ++i) {
    if (!step.inputs[i].constant) continue;
    auto value = Widened(scene_.blobs->at(step.inputs[i].blob).value);
    if (value.ok()) inputs_[i] = std::move(value).value();
  }
  const std::vector<Tensor> own_inputs = OwnInputs(*step.group);
  if (options_.inherited && own_inputs.size() == step.inputs.size()) {
    const Status own = RunOwn(*step.group, own_inputs);
    if (!own.ok()) layer.reason += "; " + own.message();
  }
  Release(step);
  inputs_.clear();
  report_.layers.push_back(std::move(layer));
}

Status Lockstep::ForwardEnd(int) {
  done_ = true;
  return Status::Ok();
}

Result<RunReport> Lockstep::Finish() {
  for (const std::string& name : scene_.graph->outputs) {
    OutputSummary summary;
    summary.name = name;
    auto value = scene_.output(name);
    if (!value.ok() && value.status().code() == StatusCode::kNotFound) continue;
    if (!value.ok()) return value.status();
    summary.device = std::move(value).value();
    summary.model_dtype = scene_.graph->ModelDType(name, summary.device.dtype());
    const auto own = own_.find(name);
    if (own != own_.end()) summary.reference = own->second;
    report_.outputs.push_back(std::move(summary));
  }
  PLUMB_RETURN_IF_ERROR(SettleProducts());
  relative_.Apply(&report_);
  NoteFused();
  for (LayerReport& layer : report_.layers) {
    for (OutputReport& output : layer.outputs) output.dtype = scene_.graph->ModelDType(output.blob, output.dtype);
  }
  ConcludeRun(scene_.graph->outputs, options_.min_tested, &report_);
  return std::move(report_);
}

void Lockstep::DescribeWrong(LayerReport* layer) const {
  const OutputReport* worst = layer->Worst();
  for (size_t i = 0; i < layer->outputs.size(); ++i) {
    OutputReport& output = layer->outputs[i];
    if (output.verdict != Verdict::kWrong) continue;
    const std::string stale = EarlierTensor(output.blob, device_[i]);
    const std::string text = stale.empty() ? DescribeDifference(device_[i], replayed_.values[i]) : stale;
    if (text.empty()) continue;
    output.reason += (output.reason.empty() ? "" : "; ") + text;
    if (&output == worst && changed_.empty()) layer->reason = output.reason;
  }
}

// Memory that nobody wrote still holds what was there before.
std::string Lockstep::EarlierTensor(const std::string& blob, const Tensor& value) const {
  constexpr int64_t kTelling = 16;  // values, not all the same
  const auto written = written_.find(blob);
  if (written == written_.end() || value.NumElements() < kTelling) return "";
  const auto earlier = seen_.find(written->second.first);
  if (earlier == seen_.end() || earlier->second == blob) return "";
  for (int64_t i = 1; i < value.NumElements(); ++i) {
    if (value.ValueAt(i) != value.ValueAt(0))
      return "it equals the earlier tensor '" + earlier->second + "' bit for bit";
  }
  return "";
}

Status Lockstep::HandOverWrong(const LayerReport& layer) {
  if (layer.verdict != Verdict::kWrong || !options_.on_wrong) return Status::Ok();
  for (size_t i = 0; i < layer.outputs.size(); ++i) {
    if (layer.outputs[i].verdict != Verdict::kWrong) continue;
    PLUMB_RETURN_IF_ERROR(options_.on_wrong(layer.outputs[i].blob, device_[i], replayed_.values[i]));
  }
  return Status::Ok();
}

Status Lockstep::JudgeStep(const LayerEvent& event, LayerReport* layer) {
  const LayerGroup& group = *event.step().group;
  const std::vector<Tensor> own_inputs = OwnInputs(group);
  const bool follow = options_.inherited && own_inputs.size() == group.inputs.size();
  // As long as the device's inputs are the reference's own, bit for bit, the replay is its own run, too.
  const bool same = follow && !event.step().fallback && !FeedsBack(group) && SameInputs(own_inputs);
  if (follow && !same) PLUMB_RETURN_IF_ERROR(RunOwn(group, own_inputs));
  for (size_t i = 0; i < group.outputs.size(); ++i) {
    PLUMB_ASSIGN_OR_RETURN(Tensor output, event.Output(i));
    PLUMB_RETURN_IF_ERROR(NoteWritten(group.outputs[i].blob, output));
    device_.push_back(std::move(output));
  }
  if (event.step().fallback)
    return Status::NotSupported("ran on " + event.step().device + ", the device has no kernel for it");
  const bool int8 = options_.arithmetic == SubjectArithmetic::kInt8;
  const std::string unbounded = int8 ? WhyUnbounded(group) : "";
  if (!unbounded.empty()) return JudgeValues(event.step(), unbounded, layer);
  ReplayExtra extra;
  if (int8) PLUMB_RETURN_IF_ERROR(AddInputNoise(event.step(), &extra));
  // A state that is stored in fewer bits than it was kept in is not what the next step read.
  for (size_t i = 0; i < group.outputs.size() && !int8; ++i) {
    if (event.step().outputs[i].stored == DType::kF32) extra.device_outputs[group.outputs[i].blob] = device_[i];
  }
  const NumericModel& model = ModelOf(options_.arithmetic);
  Arithmetic arithmetic = ArithmeticFor(group, model);
  arithmetic.winograd = event.step().winograd;
  PLUMB_RETURN_IF_ERROR(JudgeBounded(event.step(), arithmetic, extra, same, layer));
  if (layer->verdict > Verdict::kNotTested)
    PLUMB_RETURN_IF_ERROR(JudgeWithStorageNoise(event.step(), arithmetic, extra, layer));
  if (layer->verdict > Verdict::kNotTested && UseOtherProducts(group, model, &arithmetic, &extra))  // and dear
    PLUMB_RETURN_IF_ERROR(JudgeBounded(event.step(), arithmetic, extra, false, layer));
  if (layer->verdict == Verdict::kAligned && model.blobs == DType::kF32) {
    PLUMB_RETURN_IF_ERROR(NoteRelative(event.step(), *layer));
  }
  if (!changed_.empty()) {
    layer->verdict = Verdict::kWrong;
    layer->reason =
        "blob '" + changed_ + "' changed between the layer that wrote it and this one: memory is shared wrongly";
  }
  return Status::Ok();
}

Status Lockstep::JudgeBounded(const StepInfo& step, const Arithmetic& arithmetic, const ReplayExtra& extra, bool own,
                              LayerReport* layer) {
  const LayerGroup& group = *step.group;
  const int max_level = MaxBoundLevel(group);
  for (int level = 0; level <= max_level; ++level) {
    auto bounded = ReplayWithBound(group, inputs_, *scene_.blobs, arithmetic, level, extra);
    if (!bounded.ok() && bounded.status().code() == StatusCode::kNotSupported && group.members.size() > 1) {
      return JudgeValues(step, bounded.status().message(), layer);
    }
    if (!bounded.ok()) return bounded.status();
    if (options_.arithmetic == SubjectArithmetic::kInt8) PLUMB_RETURN_IF_ERROR(AddWeightNoise(group, &*bounded));
    if (own && level == 0) TakeOwn(group, bounded->values);
    PLUMB_RETURN_IF_ERROR(JudgeOutputs(step, device_, *bounded, level, layer));
    replayed_ = *bounded;
    if (layer->verdict <= Verdict::kNotTested) break;  // a wider bound would not change that
  }
  return Status::Ok();
}

Status Lockstep::JudgeOutputs(const StepInfo& step, const std::vector<Tensor>& device, const ReplayResult& replay,
                              int level, LayerReport* layer) {
  layer->outputs.clear();
  layer->verdict = Verdict::kAligned;
  layer->reason.clear();
  bool tested = false;
  for (size_t i = 0; i < device.size(); ++i) {
    OutputReport output;
    output.blob = step.outputs[i].blob;
    output.slot = step.outputs[i].slot;
    output.dtype = device[i].dtype();
    output.shape = device[i].shape();
    output.layout = step.outputs[i].layout;
    output.level = level;
    Tensor reference = replay.values[i], tau = replay.tau[i];
    const DType storage = step.outputs[i].stored;
    const bool half = IsHalf(storage) && step.outputs[i].dtype == DType::kF32;
    const bool grid = storage == DType::kI8 && device[i].dtype() == DType::kF32;
    if (half) PLUMB_RETURN_IF_ERROR(JudgeAsStored(storage, device[i], &reference, &tau));
    OnGrid on_grid;
    if (grid) {
      PLUMB_ASSIGN_OR_RETURN(on_grid, JudgeOnGrid(device[i], &reference, &tau));
    }
    // A gain below the storage's rounding is none, and a constant field rounds alike everywhere.
    Judge({device[i], reference, tau, grid || (!half && HasSlopeTest(*step.group)), inputs_finite_, grid,
           Picks(*step.group)},
          &output);
    if (grid) on_grid.AddTo(&output);
    const auto own = own_.find(output.blob);
    if (own != own_.end()) {
      const Differences differences = CompareThree(device[i], replay.values[i], own->second);
      output.introduced = differences.introduced;
      output.inherited = differences.inherited;
      output.total = differences.total;
    } else {
      output.introduced = CompareTensors(device[i], replay.values[i]);
    }
    CompareGolden(device[i], &output);
    tested = tested || output.verdict != Verdict::kNotTested;
    layer->outputs.push_back(std::move(output));
  }
  const OutputReport* worst = layer->Worst();
  if (worst == nullptr) return Status::Ok();
  layer->verdict = tested && worst->verdict == Verdict::kNotTested ? Verdict::kAligned : worst->verdict;
  layer->reason = worst->reason;
  return Status::Ok();
}

Status Lockstep::NoteRelative(const StepInfo& step, const LayerReport& layer) {
  const ReferenceOp* op = RelativeClasses::Of(*step.group);
  if (op == nullptr || step.outputs[0].stored != DType::kF32) return Status::Ok();
  ReplayExtra extra;
  extra.member = 0;
  extra.op = op;
  const Arithmetic arithmetic = ArithmeticFor(*step.group, ModelOf(options_.arithmetic));
  PLUMB_ASSIGN_OR_RETURN(const ReplayResult replay,
                         ReplayWithBound(*step.group, inputs_, *scene_.blobs, arithmetic, 0, extra));
  OutputReport relative;
  relative.dtype = device_[0].dtype();
  relative.shape = device_[0].shape();
  Judge({device_[0], replay.values[0], replay.tau[0], false, inputs_finite_}, &relative);
  relative_.Note(report_.layers.size(), step.group->first().kind, layer.outputs[0], relative);
  return Status::Ok();
}

Status Lockstep::AddInputNoise(const StepInfo& step, ReplayExtra* extra) const {
  const auto& members = step.group->members;
  for (size_t i = 0; i < step.inputs.size(); ++i) {
    const PortInfo& port = step.inputs[i];
    const Layer& reader = *members[static_cast<size_t>(step.group->inputs[i].member)];
    if (port.constant || port.stored != DType::kF32 || port.dtype != DType::kF32 || !IsProduct(reader)) continue;
    if (step.outputs[0].stored != DType::kI8) continue;  // computed in floats
    PLUMB_ASSIGN_OR_RETURN(extra->input_tau[port.blob], InputNoise(inputs_[i]));
  }
  return Status::Ok();
}

Result<bool> Lockstep::AddStorageNoise(const LayerGroup& group, const std::vector<Tensor>& inputs,
                                       ReplayExtra* extra) const {
  const NumericModel& model = ModelOf(options_.arithmetic);
  if (!model.is_half()) return false;
  const bool writes_half = std::any_of(group.outputs.begin(), group.outputs.end(), [&](const LayerGroup::Port& port) {
    return scene_.storage(port.blob) == model.blobs;
  });
  for (size_t i = 0; i < group.inputs.size(); ++i) {
    const std::string& blob = group.inputs[i].blob;
    if (!scene_.blobs->at(blob).value.empty()) continue;
    const auto& outer = scene_.graph->inputs;
    const bool network = std::any_of(outer.begin(), outer.end(), [&](const GraphInput& g) { return g.name == blob; });
    // What stands in 16 bits may have been read before it was rounded; what stands in f32 (what an operator keeps so)
    // may be rounded when it is read; of the network's input either holds.
    const bool stands_rounded = scene_.storage(blob) == model.blobs;
    const bool read_before = model.chains && (network || stands_rounded);
    const bool read_rounded = writes_half && (network || !stands_rounded);
    PLUMB_ASSIGN_OR_RETURN(Tensor noise, StorageNoise(model.blobs, inputs[i], read_before, read_rounded));
    if (!noise.empty()) extra->input_tau[blob] = std::move(noise);
  }
  return !extra->input_tau.empty();
}

// A step that is off on the very values in the dump, which are not quite those that it read. Only where errors can be
// followed through it.
Status Lockstep::JudgeWithStorageNoise(const StepInfo& step, const Arithmetic& arithmetic, ReplayExtra extra,
                                       LayerReport* layer) {
  PLUMB_ASSIGN_OR_RETURN(bool any, AddStorageNoise(*step.group, inputs_, &extra));
  if (ModelOf(options_.arithmetic).is_half() && step.group->members.size() > 1) {  // what nobody dumped was stored, too
    extra.stored = scene_.storage;
    any = true;
  }
  LayerReport wider;
  const ReplayResult narrow = replayed_;
  if (any && JudgeBounded(step, arithmetic, extra, false, &wider).ok() && !replayed_.tau.empty()) {
    layer->verdict = wider.verdict;
    layer->reason = wider.reason;
    layer->outputs = std::move(wider.outputs);
  } else {
    replayed_ = narrow;
  }
  return Status::Ok();
}

Status Lockstep::AddWeightNoise(const LayerGroup& group, ReplayResult* replay) const {
  if (options_.int8_weights != Int8Weights::kUnknown) return Status::Ok();
  PLUMB_ASSIGN_OR_RETURN(const std::vector<Tensor> sigma, WeightNoise(group, inputs_, *scene_.blobs, *replay));
  for (size_t o = 0; o < sigma.size(); ++o) {
    double* tau = replay->tau[o].data<double>();
    const double* noise = sigma[o].data<double>();
    for (int64_t i = 0; i < sigma[o].NumElements(); ++i) tau[i] = std::sqrt(tau[i] * tau[i] + 64 * noise[i] * noise[i]);
  }
  return Status::Ok();
}

void Lockstep::CompareGolden(const Tensor& device, OutputReport* output) const {
  if (options_.golden == nullptr || !options_.golden->Has(output->blob)) return;
  GoldenReport& golden = output->golden;
  const auto value = options_.golden->Load(output->blob);
  if (!value.ok() || value->shape() != device.shape()) {
    golden.reason = value.ok() ? "shape " + value->shape().ToString() + " in the golden" : value.status().message();
    return;
  }
  golden.compared = true;
  golden.device = CompareTensors(device, *value);
  const auto own = own_.find(output->blob);
  if (own != own_.end()) golden.naive = CompareTensors(own->second, *value);
}

std::vector<Tensor> Lockstep::OwnInputs(const LayerGroup& group) const {
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < group.inputs.size(); ++i) {
    const auto it = own_.find(group.inputs[i].blob);
    if (it != own_.end()) {
      inputs.push_back(it->second);
    } else if (!scene_.blobs->at(group.inputs[i].blob).value.empty()) {
      inputs.push_back(inputs_[i]);
    } else {
      break;
    }
  }
  return inputs;
}

bool Lockstep::SameInputs(const std::vector<Tensor>& own_inputs) const {
  for (size_t i = 0; i < own_inputs.size(); ++i) {
    if (std::memcmp(own_inputs[i].raw(), inputs_[i].raw(), inputs_[i].bytes()) != 0) return false;
  }
  return true;
}

Status Lockstep::RunOwn(const LayerGroup& group, const std::vector<Tensor>& inputs) {
  PLUMB_ASSIGN_OR_RETURN(ReplayResult own, ReplayValues(group, inputs, *scene_.blobs));
  TakeOwn(group, own.values);
  return Status::Ok();
}

void Lockstep::TakeOwn(const LayerGroup& group, const std::vector<Tensor>& values) {
  for (size_t i = 0; i < group.outputs.size(); ++i) own_[group.outputs[i].blob] = values[i];
  size_t live = 0;
  for (const auto& entry : own_) live += entry.second.bytes();
  report_.peak_reference_bytes = std::max(report_.peak_reference_bytes, live);
}

void Lockstep::Release(const StepInfo& step) {
  for (const PortInfo& port : step.inputs) {
    if (--readers_[port.blob] > 0) continue;
    own_.erase(port.blob);
    written_.erase(port.blob);
  }
}

}  // namespace plumb
