// SPDX-License-Identifier: Apache-2.0
#include "check/walk/lockstep.h"

#include <fmt/core.h>

#include <algorithm>

#include "check/core/coverage.h"
#include "check/core/inspect.h"
#include "check/core/step_budget.h"
#include "check/judge/exercised.h"
#include "check/judge/judge.h"
#include "check/judge/one_sided.h"
#include "check/numbers/stored_half.h"
#include "check/walk/lone_winograd.h"
#include "check/walk/rounding_reach.h"
#include "graph/file_order.h"
#include "plumb/tool/support.h"

namespace plumb {
namespace {

// Shapes and places as the model says them.
void SayInFileOrder(const Graph& graph, OutputReport* output) {
  const Shape shape = output->shape;
  output->shape = FileShape(graph, output->blob, shape);
  for (DiffMetrics* metrics :
       {&output->introduced, &output->inherited, &output->total, &output->golden.naive, &output->golden.device}) {
    if (metrics->worst >= 0) metrics->worst = FilePlace(graph, output->blob, shape, metrics->worst);
  }
}

bool IsHalf(DType stored) { return stored == DType::kF16 || stored == DType::kBF16; }

// f16 or bf16 where some output of the run is stored so.
DType HalfStorageOf(const std::vector<const StepInfo*>& steps) {
  DType storage = DType::kF32;
  for (const StepInfo* step : steps) {
    for (const PortInfo& port : step->outputs) {
      if (IsHalf(port.stored)) storage = port.stored;
    }
  }
  return storage;
}

// A constant as the device stores it.
Result<Tensor> StoredConstant(const PortInfo& port, const Tensor& value) {
  PLUMB_ASSIGN_OR_RETURN(Tensor wide, Widened(value));
  if (!IsHalf(port.stored) || port.dtype != DType::kF32) return wide;
  return RoundedTo(port.stored, wide);
}

}  // namespace

Status Lockstep::Begin(Scene scene, const std::map<std::string, Tensor>& inputs) {
  scene_ = std::move(scene);
  scene_.model = &ModelOf(options_.arithmetic);
  scene_.int8_weights = options_.int8_weights;
  scene_.finds_products = options_.find_products;
  scene_.record = options_.record;
  report_.device = scene_.device;
  report_.device_description = scene_.description;
  report_.precision = scene_.precision;
  report_.direct = scene_.direct;
  report_.has_golden = options_.golden != nullptr;
  report_.only_named_layers = !options_.layers.empty();
  PLUMB_RETURN_IF_ERROR(CheckLayerNames(options_.layers, scene_.steps));
  options_.inherited = options_.inherited && options_.layers.empty();
  for (const StepInfo* step : scene_.steps) {
    for (const PortInfo& port : step->inputs) ++readers_[port.blob];
  }
  for (const std::string& output : scene_.graph->outputs) ++readers_[output];
  written_ = WrittenBlobs(HalfStorageOf(scene_.steps));
  judge_ = std::make_unique<StepJudge>(&scene_, options_.golden, &own_, options_.picture_cells);
  explainers_ = Explainers(&scene_, judge_.get(), &written_);
  if (options_.find_products && scene_.earlier) products_ = OtherProducts::Of(*scene_.model);
  const bool declared = options_.arithmetic == SubjectArithmetic::kNarrowProducts;
  if (declared || (options_.find_products && !scene_.model->is_half()))
    narrow_ = NarrowProducts(declared, options_.may_be_half);
  for (const auto& [name, value] : inputs) PLUMB_RETURN_IF_ERROR(written_.NoteWritten(name, value));
  effects_ = AnswerEffects(scene_.rest);
  const bool exact =
      options_.arithmetic == SubjectArithmetic::kFp32 || options_.arithmetic == SubjectArithmetic::kWinograd;
  if (options_.inherited) choices_.Begin(scene_.steps, *scene_.blobs, exact);
  return SetOwnInputs(inputs);
}

Status Lockstep::SetOwnInputs(const std::map<std::string, Tensor>& inputs) {
  inputs_ = inputs;
  effects_.SetInputs(inputs);
  PLUMB_RETURN_IF_ERROR(choices_.SetInputs(inputs));
  return own_.SetInputs(inputs);
}

bool Lockstep::IsNamed(const StepInfo& step) const {
  const auto holds = [&](const std::string& name) { return HoldsLayer(step, name); };
  return options_.layers.empty() || std::any_of(options_.layers.begin(), options_.layers.end(), holds);
}

Status Lockstep::Before(const LayerEvent& event) {
  if (!IsNamed(event.step())) return Status::Ok();
  auto record = std::make_unique<StepRecord>(event.step());
  PLUMB_RETURN_IF_ERROR(ReadInputs(event, record.get()));
  open_ = std::move(record);
  return Status::Ok();
}

Status Lockstep::ReadInputs(const LayerEvent& event, StepRecord* record) {
  for (size_t i = 0; i < record->info.inputs.size(); ++i) {
    const PortInfo& port = record->info.inputs[i];
    if (port.constant) {
      PLUMB_ASSIGN_OR_RETURN(Tensor value, StoredConstant(port, scene_.blobs->at(port.blob).value));
      record->inputs.push_back(std::move(value));
      continue;
    }
    PLUMB_ASSIGN_OR_RETURN(const Tensor value, event.Input(i));
    PLUMB_ASSIGN_OR_RETURN(Inspected inspected, Inspect(value));
    if (options_.inherited) effects_.NoteInput(port.blob, value);
    if (written_.HasChanged(port.blob, inspected.fingerprint)) record->changed = port.blob;
    written_.NoteRead(port.blob, inspected.fingerprint);
    record->inputs_finite = record->inputs_finite && inspected.finite;
    record->inputs.push_back(std::move(inspected.wide));
  }
  return Status::Ok();
}

Status Lockstep::After(const LayerEvent& event) {
  if (!IsNamed(event.step())) {  // what it wrote must still be what a step that is judged reads
    for (size_t i = 0; i < event.step().outputs.size(); ++i) {
      PLUMB_ASSIGN_OR_RETURN(const Tensor output, event.Output(i));
      PLUMB_RETURN_IF_ERROR(written_.NoteWritten(event.step().outputs[i].blob, output));
    }
    Release(event.step());
    return Status::Ok();
  }
  const std::unique_ptr<StepRecord> record = std::move(open_);
  if (record == nullptr) return Status::Ok();  // Before failed and said why
  LayerReport& report = record->report;
  report.device_seconds = event.seconds();
  const Status status = Judge(event, record.get());
  if (!status.ok()) {
    report.verdict = Verdict::kNotTested;
    report.reason = status.message();
  }
  const StepBudget budget(record->group.members.size());
  const bool accused = options_.causes && explainers_.Accuse(record.get());
  if (!accused) explainers_.Excuse(record.get());
  Status handed_over;
  const bool waits = !accused && products_.PutOff(*record, *judge_, report_.layers.size());
  if (!waits) {
    if (options_.causes) explainers_.Explain(record.get());
    narrow_.Note(*record, report_.layers.size());
    handed_over = HandOver(*record);
  }
  if (options_.inherited) {
    effects_.RunStep(record->group, *scene_.blobs, record->inputs);
    choices_.NoteStep(report_.layers.size(), *record, own_, effects_, waits);
    effects_.NoteStep(report_.layers.size(), *record, *scene_.blobs, waits);
  }
  Release(event.step());
  settled_ = !waits;
  report_.layers.push_back(std::move(report));
  return handed_over;
}

Status Lockstep::NoteRead(const std::string& blob, const Tensor& value) {
  PLUMB_ASSIGN_OR_RETURN(const Inspected inspected, Inspect(value));
  written_.NoteRead(blob, inspected.fingerprint);
  return Status::Ok();
}

Status Lockstep::Keep(const LayerGroup& group, LayerReport report, const std::vector<Tensor>& outputs) {
  for (size_t i = 0; i < outputs.size(); ++i)
    PLUMB_RETURN_IF_ERROR(written_.NoteWritten(group.outputs[i].blob, outputs[i]));
  products_.NoteKept(group, report);
  kept_.insert(report_.layers.size());
  settled_ = false;
  Release(report.step);
  report_.layers.push_back(std::move(report));
  return Status::Ok();
}

Status Lockstep::Judge(const LayerEvent& event, StepRecord* record) {
  OwnInputs own;
  own.values = own_.InputsOf(record->group, *scene_.blobs, record->inputs);
  own.known = options_.inherited && own.values.size() == record->group.inputs.size();
  own.are_the_device_s = own.known && !FeedsBack(record->group) && SameBits(own.values, record->inputs);
  for (size_t i = 0; i < record->group.outputs.size(); ++i) {
    PLUMB_ASSIGN_OR_RETURN(Tensor output, event.Output(i));
    PLUMB_RETURN_IF_ERROR(written_.NoteWritten(record->group.outputs[i].blob, output));
    record->device.push_back(std::move(output));
  }
  if (record->info.fallback) {
    if (own.known) PLUMB_RETURN_IF_ERROR(own_.Run(record->group, own.values, *scene_.blobs));
    return Status::NotSupported(fmt::format("ran on {}, the device has no kernel for it", record->info.device));
  }
  PLUMB_RETURN_IF_ERROR(judge_->Judge(own, record));
  integers_.Judge(scene_, report_.layers.size(), record);
  if (record->report.verdict == Verdict::kAligned) PLUMB_RETURN_IF_ERROR(NoteRelative(*record));
  NoteNotExercised(record);
  if (!record->changed.empty()) {
    record->report.verdict = Verdict::kWrong;
    record->report.reason = fmt::format(
        "blob '{}' changed between the layer that wrote it and this one: memory is shared wrongly", record->changed);
  }
  return Status::Ok();
}

Status Lockstep::NoteRelative(const StepRecord& record) {
  const ReferenceOp* op = RelativeClasses::Of(record.group);
  const bool floats = scene_.model->blobs == DType::kF32 && record.info.outputs[0].stored == DType::kF32;
  if (op == nullptr || !floats) return Status::Ok();
  ReplayExtra extra;
  extra.changes = {{0, *op, {}, {}}};
  const Arithmetic arithmetic = ArithmeticFor(record.group, *scene_.model);
  PLUMB_ASSIGN_OR_RETURN(const ReplayResult replay,
                         ReplayWithBound(record.group, record.inputs, *scene_.blobs, arithmetic, 0, extra));
  OutputReport relative;
  relative.dtype = record.device[0].dtype();
  relative.shape = record.device[0].shape();
  plumb::Judge({record.device[0], replay.values[0], replay.tau[0], false, record.inputs_finite}, &relative);
  relative_.Note(report_.layers.size(), record.group.first().kind, record.report.outputs[0], relative);
  return Status::Ok();
}

void Lockstep::Skip(const StepInfo& step, Verdict verdict, const std::string& reason) {
  StepRecord record(step);
  record.report.verdict = verdict;
  record.report.reason = reason;
  record.inputs.assign(step.inputs.size(), Tensor());
  for (size_t i = 0; i < step.inputs.size(); ++i) {
    if (!step.inputs[i].constant) continue;
    auto value = Widened(scene_.blobs->at(step.inputs[i].blob).value);
    if (value.ok()) record.inputs[i] = std::move(value).value();
  }
  const std::vector<Tensor> own_inputs = own_.InputsOf(record.group, *scene_.blobs, record.inputs);
  if (options_.inherited && own_inputs.size() == step.inputs.size()) {
    const Status own = own_.Run(record.group, own_inputs, *scene_.blobs);
    if (!own.ok()) record.report.reason += "; " + own.message();
  }
  if (options_.inherited) {
    effects_.RunStep(record.group, *scene_.blobs, record.inputs);
    effects_.NoteUnknown(record.group);
    choices_.NoteUnknown(report_.layers.size(), record.group, record.inputs);
  }
  Release(step);
  settled_ = true;
  report_.layers.push_back(std::move(record.report));
}

Status Lockstep::ForwardEnd(int) {
  done_ = true;
  return Status::Ok();
}

Result<StepRecord> Lockstep::Reopen(size_t position) {
  StepRecord record(*scene_.steps[position]);
  record.report = std::move(report_.layers[position]);
  PLUMB_ASSIGN_OR_RETURN(record.inputs, InputsOf(scene_, record.group));
  for (const PortInfo& port : record.info.outputs) {
    PLUMB_ASSIGN_OR_RETURN(Tensor output, scene_.earlier(port.blob));
    record.device.push_back(std::move(output));
  }
  PLUMB_ASSIGN_OR_RETURN(record.replay,
                         ReplayWithBound(record.group, record.inputs, *scene_.blobs,
                                         ArithmeticFor(record.group, *scene_.model), MaxBoundLevel(record.group)));
  return record;
}

// What After keeps back of a step that was put off.
Status Lockstep::SettleProducts() {
  const std::vector<size_t> left = products_.Settle(scene_.steps, &report_);
  LoneWinograd lone(&products_, scene_.blobs);
  for (const size_t position : left) {
    if (products_.AsWinograd(position) == nullptr) continue;
    PLUMB_ASSIGN_OR_RETURN(StepRecord record, Reopen(position));
    lone.Note(position, record);
    report_.layers[position] = std::move(record.report);
  }
  for (const size_t position : left) {
    PLUMB_ASSIGN_OR_RETURN(StepRecord record, Reopen(position));
    const StepBudget budget(record.group.members.size());
    if (options_.causes) explainers_.Explain(&record);
    narrow_.Note(record, position);
    if (record.report.cause.empty()) lone.Name(position, &record);
    const Status handed_over = HandOver(record);
    report_.layers[position] = std::move(record.report);
    PLUMB_RETURN_IF_ERROR(handed_over);
  }
  return Status::Ok();
}

// Of steps that came before the first whose products were named as of fewer bits; what a device read and wrote is gone.
Status Lockstep::SettleNarrow() {
  const std::vector<size_t> positions = scene_.earlier ? narrow_.Unexplained(report_) : std::vector<size_t>();
  for (const size_t position : positions) {
    PLUMB_ASSIGN_OR_RETURN(StepRecord record, Reopen(position));
    if (explainers_.NameNarrow(&record)) narrow_.Note(record, position);
    report_.layers[position] = std::move(record.report);
  }
  narrow_.Settle(&report_);
  return Status::Ok();
}

// Of steps that were aligned before the others told by which rule.
Status Lockstep::SettleIntegers() {
  for (const size_t position : integers_.Suspects(report_)) {
    PLUMB_ASSIGN_OR_RETURN(StepRecord record, Reopen(position));
    integers_.Settle(position, explainers_.NameIntegers(record), &record.report);
    const Status handed_over = HandOver(record);
    report_.layers[position] = std::move(record.report);
    PLUMB_RETURN_IF_ERROR(handed_over);
  }
  return Status::Ok();
}

Status Lockstep::HandOver(const StepRecord& record) const {
  if (options_.on_step) {
    PLUMB_RETURN_IF_ERROR(options_.on_step(
        {record.report, record.group.members, record.inputs, record.device, record.replay.values, record.replay.tau}));
  }
  if (record.report.verdict != Verdict::kWrong || !options_.on_wrong) return Status::Ok();
  for (size_t i = 0; i < record.report.outputs.size(); ++i) {
    const OutputReport& output = record.report.outputs[i];
    if (output.verdict != Verdict::kWrong) continue;
    PLUMB_RETURN_IF_ERROR(options_.on_wrong(output.blob, record.device[i], record.replay.values[i]));
  }
  return Status::Ok();
}

// What a step writes and takes, compared or not.
void Lockstep::AddCosts(const std::map<int, const Layer*>& layers, LayerReport* report) const {
  for (const PortInfo& port : report->step.outputs) report->values += port.shape.NumElements();
  for (const MemberInfo& member : report->step.members) {
    const auto found = layers.find(member.index);
    if (found != layers.end()) report->multiply_adds += CountOperations(*found->second, *scene_.blobs) / 2;
  }
}

void Lockstep::SayOutputs(LayerReport* report) const {
  for (OutputReport& output : report->outputs) {
    output.dtype = scene_.graph->ModelDType(output.blob, output.dtype);
    SayInFileOrder(*scene_.graph, &output);
  }
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
    const Tensor* own = own_.Find(name);
    if (own != nullptr) summary.reference = *own;
    report_.outputs.push_back(std::move(summary));
  }
  PLUMB_RETURN_IF_ERROR(SettleProducts());
  PLUMB_RETURN_IF_ERROR(SettleNarrow());
  PLUMB_RETURN_IF_ERROR(SettleIntegers());
  relative_.Apply(&report_);
  explainers_.AddNotes(&report_);
  integers_.SayRules(&report_);
  NoteOneSided(&report_);
  effects_.Finish(report_, &report_.outputs);
  report_.choices = choices_.Finish(report_);
  AddAnswers();
  report_.peak_reference_bytes = own_.peak_bytes();
  std::map<int, const Layer*> layers;
  for (const Layer& layer : scene_.graph->layers) layers[layer.index] = &layer;
  for (size_t position = 0; position < report_.layers.size(); ++position) {
    if (kept_.count(position) != 0) continue;
    SayOutputs(&report_.layers[position]);
    AddCosts(layers, &report_.layers[position]);
  }
  ConcludeRun(scene_.graph->outputs, options_.min_tested, &report_);
  return std::move(report_);
}

// The top-1 of scores that changed is a choice, too. For what rounding may move it the reference runs the network twice
// more.
void Lockstep::AddAnswers() {
  const auto changed = [](const OutputSummary& output) { return output.effect.moved != 0; };
  if (std::none_of(report_.outputs.begin(), report_.outputs.end(), changed)) return;
  const std::map<std::string, double> reach = ReachOfOutputs(scene_, inputs_, report_.outputs);
  for (const OutputSummary& output : report_.outputs) {
    if (!changed(output)) continue;
    const auto writes = [&](const LayerReport& layer) {
      const auto& ports = layer.step.outputs;
      return std::any_of(ports.begin(), ports.end(), [&](const PortInfo& port) { return port.blob == output.name; });
    };
    const auto layer = std::find_if(report_.layers.begin(), report_.layers.end(), writes);
    const auto found = reach.find(output.name);
    if (layer == report_.layers.end() || found == reach.end()) continue;
    report_.choices.push_back(AnswerAsChoice(output.effect, layer->step, found->second));
  }
}

void Lockstep::Release(const StepInfo& step) {
  for (const PortInfo& port : step.inputs) {
    if (--readers_[port.blob] > 0) continue;
    own_.Release(port.blob);
    effects_.Release(port.blob);
    choices_.Release(port.blob);
    written_.Release(port.blob);
  }
}

}  // namespace plumb
