// SPDX-License-Identifier: Apache-2.0
#include "model_check/run.h"

#include <fmt/core.h>

#include <chrono>

#include "common/option_words.h"
#include "common/outputs.h"
#include "common/print.h"
#include "plumb/plumb.h"
#include "plumb/tensor_file.h"
#include "plumb/tool/headroom.h"
#include "plumb/tool/interrupt.h"
#include "plumb/tool/printing.h"
#include "plumb/tool/step_case.h"

namespace plumb {
namespace {

// Shows which layer is being checked.
class ProgressObserver : public Observer {
 public:
  ProgressObserver(const Network& network, bool quiet)
      : progress_("check " + network.device_name(), static_cast<int64_t>(network.steps().size()), quiet) {}
  Status Before(const LayerEvent& event) override {
    progress_.Step(++begun_, event.step().name);
    return Status::Ok();
  }
  Status ForwardEnd(int) override {
    progress_.Clear();
    return Status::Ok();
  }

 private:
  Progress progress_;
  int64_t begun_ = 0;
};

// While golden and subject are judged, which no observer watches: a line every ten seconds. A device's steps have a
// progress of their own.
class StillAtIt {
 public:
  explicit StillAtIt(bool quiet) : quiet_(quiet) {}
  void Say(bool device_begun) {
    constexpr double kSeconds = 10;
    const std::chrono::duration<double> since = Clock::now() - begin_;
    if (quiet_ || device_begun || since.count() < said_ + kSeconds) return;
    said_ = since.count();
    PrintError("check: the tensors given are being judged, {} s so far\n", static_cast<int>(said_));
  }

 private:
  using Clock = std::chrono::steady_clock;
  bool quiet_;
  Clock::time_point begin_ = Clock::now();
  double said_ = 0;
};

}  // namespace

int Run::Go() {
  result_.checked.model = options_.model.Files().structure;
  result_.checked.tool_version = std::string("Plumb ") + Version();
  result_.checked.seed = options_.model.seed;
  result_.checked.precision = options_.run.precision;
  result_.checked.reproduce = options_.again;
  result_.checked.expect = !options_.foreign.expect.empty() ? options_.foreign.expect
                           : options_.junit.empty()         ? "any"
                                                            : "model";
  Status ready = ParseAsked();
  if (ready.ok()) ready = Load();
  if (ready.ok() && options_.headroom) return ShowHeadroom();
  if (options_.many.given() && ready.ok() && LayersAreLeftOut()) {
    if (result_.errors.empty()) return kExitOk;
    Say(fmt::format("ERROR: {} (exit {})\n", result_.errors[0].message, result_.errors[0].exit_code));
    return result_.errors[0].exit_code;
  }
  if (ready.ok()) {
    Judge();
  } else {
    AddError(ready);
  }
  return Finish();
}

Status Run::ParseAsked() {
  PLUMB_ASSIGN_OR_RETURN(min_tested_, options_.MinTested());
  if (options_.repeat < 0)
    return Status::InvalidArgument(fmt::format("--repeat: expected a count from 0 on, found {}", options_.repeat));
  constexpr int kMost = 1024;
  for (const auto& [option, count] :
       {std::pair("--vary-threads", options_.vary_threads), {"--batch", options_.batch}}) {
    if (count < 0 || count > kMost)
      return Status::InvalidArgument(fmt::format("{}: expected a count from 0 to {}, found {}", option, kMost, count));
  }
  result_.checked.min_tested = min_tested_;
  // A subject is judged alone unless a device is asked for.
  if (options_.device.empty() && !options_.foreign.subject.empty()) return Status::Ok();
  const std::string text = options_.device.empty() ? "ALL" : options_.device;
  PLUMB_ASSIGN_OR_RETURN(result_.devices, AskForDevices(text));
  std::vector<std::string> names;
  for (const AskedDevice& asked : result_.devices) names.push_back(asked.device);
  return CheckDeviceIndex(options_.run, names);
}

Status Run::Load() {
  PLUMB_ASSIGN_OR_RETURN(network_options_, options_.run.Apply());
  PLUMB_RETURN_IF_ERROR(ReadBaseline());
  if (!options_.bundle.empty()) PLUMB_RETURN_IF_ERROR(bundle_.Begin());
  PLUMB_RETURN_IF_ERROR(OpenSession());
  PLUMB_ASSIGN_OR_RETURN(rule_, options_.files.Rule());
  if (!options_.files.reference.empty() && options_.input.files.empty()) {
    return Status::InvalidArgument("-f compares with outputs of a given input: give that input with -i");
  }
  if (options_.files.double_batch) PLUMB_RETURN_IF_ERROR(DoubleBatch(&inputs_, &network_options_.input_shapes));
  Describe(&result_.checked);
  return Status::Ok();
}

void Run::Judge() {
  if (!options_.files.layer_files.empty()) {
    result_.devices.clear();  // NAIVE alone is compared with the files
    if (const Status compared = CheckLayerFiles(); !compared.ok()) AddError(compared);
    return;
  }
  // With --quiet, which prints no report, this is where the headline is said.
  const std::string headline = FormatInputs(result_.checked);
  if (options_.output.quiet && !headline.empty()) Say(headline + "\n");
  StillAtIt still(options_.output.quiet);
  const Interrupter ask([&] { return still.Say(device_begun_), false; });
  auto found = CheckAll(session_.get(), Plan(), result_.devices);
  if (!found.ok()) return AddError(found.status());
  found->comparisons.insert(found->comparisons.begin(), result_.comparisons.begin(), result_.comparisons.end());
  found->errors.insert(found->errors.begin(), result_.errors.begin(), result_.errors.end());
  result_ = std::move(*found);
}

CheckPlan Run::Plan() {
  CheckPlan plan;
  plan.network = network_options_;
  plan.network.device_index = options_.run.device_index;
  plan.repeats = options_.repeat;
  plan.poison = options_.poison;
  plan.vary_threads = options_.vary_threads;
  plan.batch = options_.batch;
  plan.check.min_tested = min_tested_;
  plan.check.layers = options_.layers;
  plan.check.on_wrong = OnWrong();
  if (!options_.extract.empty() || bundle_.begun())
    plan.check.on_step = [this](const StepCase& step) { return Extract(step); };
  if (!options_.html.empty() || bundle_.begun()) plan.check.picture_cells = PictureCells(graph_->layers.size());
  plan.inputs = &inputs_.values;
  plan.reproduce_golden = "--golden " + ShellQuoted(golden_);
  plan.reproduce_subject = "--subject " + ShellQuoted(subject_);
  plan.hooks = Hooks();
  return plan;
}

CheckHooks Run::Hooks() {
  CheckHooks hooks;
  hooks.described = [this](CheckedModel* checked) { *checked = result_.checked; };
  hooks.prepare = [this](std::shared_ptr<Device> device, const NetworkOptions& options) {
    return Prepare(std::move(device), options);
  };
  if (options_.files.outputs_only) hooks.use = [this](Network* network) { return CheckOutputs(network); };
  hooks.judged = [this](const CheckedModel&, RunReport* run, const std::map<std::string, Tensor>& outputs) {
    return Judged(run, outputs);
  };
  hooks.not_run = [this](AskedDevice* asked) { NotRun(asked); };
  hooks.failed = [](CheckError* error) {
    FailBeforeLastLine(Status(error->code, error->message));
    error->message = InOptionWords(std::move(error->message));
  };
  return hooks;
}

Result<std::unique_ptr<Network>> Run::Prepare(std::shared_ptr<Device> device, const NetworkOptions& options) {
  device_begun_ = true;
  PLUMB_ASSIGN_OR_RETURN(auto network,
                         dump_log_.CreateNetwork(graph_, std::move(device), options, result_.devices.size() > 1));
  NotePrecision(network_options_, *network);
  if (!options_.files.outputs_only) {
    network->AddObserver(std::make_shared<ProgressObserver>(*network, options_.output.quiet));
  }
  return network;
}

Status Run::Judged(RunReport* run, const std::map<std::string, Tensor>& outputs) {
  PutInOptionWords(run);
  if (!options_.update_baseline) {
    const std::string key = options_.baseline.empty() ? "" : result_.checked.model;
    for (const std::string& line : baseline_.Accept(key, Baseline::Today(), min_tested_, run))
      run->notes.push_back(line);
  }
  if (run->is_golden) return PrintGolden(*run), Status::Ok();
  Print(*run);
  if (outputs.empty()) return Status::Ok();  // the subject
  NamedValues reference;
  for (const OutputSummary& output : run->outputs) {
    if (!output.reference.empty()) reference[output.name] = output.reference;
  }
  if (!options_.files.reference.empty()) {
    PLUMB_ASSIGN_OR_RETURN(reference, ReadReference(options_.files.reference, outputs, options_.files.double_batch));
    PLUMB_RETURN_IF_ERROR(CompareWith(run->device, outputs, reference));
  }
  return WriteOutputs(outputs, reference);
}

// Shortly, unless the conversion is wrong.
void Run::PrintGolden(const RunReport& golden) {
  if (golden.verdict == Verdict::kWrong || options_.full) return Print(golden);
  const size_t width = static_cast<size_t>(OutputWidth());
  std::string text = fmt::format("golden  {}\n", golden_);
  for (const std::string& note : golden.notes)
    text += fmt::format("        {}\n", Wrapped(PrintableLine(note), width, 8, 8));
  if (options_.output.quiet) text.clear();
  const std::string summary = PrintableLine(FormatSummary(result_.checked, golden));
  Say(text + (options_.output.quiet ? summary + "\n" : Wrapped(summary, width, 4) + "\n\n"));
}

// One of ALL that lacks a kernel is left out; a device that was asked for by name fails.
void Run::NotRun(AskedDevice* asked) {
  if (asked->state == AskedDevice::State::kFailed) {
    const Status failed(asked->code, asked->error);
    // The last line says that a device is not there, but not why.
    asked->exit_code == kExitNoDevice ? Fail(failed) : FailBeforeLastLine(failed);
  }
  asked->error = InOptionWords(std::move(asked->error));
  if (asked->state == AskedDevice::State::kSkipped) {
    Say(fmt::format("{}: skipped: {}\n{}", asked->device, asked->error, options_.output.quiet ? "" : "\n"));
  }
}

Status Run::CheckOutputs(Network* network) {
  PLUMB_ASSIGN_OR_RETURN(const NamedValues outputs, RunNetwork(network, inputs_.values));
  auto reference = options_.files.reference.empty()
                       ? RunReference(graph_, network_options_, inputs_)
                       : ReadReference(options_.files.reference, outputs, options_.files.double_batch);
  if (!reference.ok()) return reference.status();
  PLUMB_RETURN_IF_ERROR(CompareWith(network->device_name(), outputs, *reference));
  return WriteOutputs(outputs, *reference);
}

int Run::ShowHeadroom() const {
  auto report = MeasureHeadroom(graph_, inputs_.values, network_options_);
  if (!report.ok()) return Fail(report.status());
  report->model = result_.checked.model;
  report->inputs = result_.checked.inputs;
  Say(FormatHeadroom(*report, static_cast<size_t>(OutputWidth()), options_.output.quiet));
  if (options_.json.empty()) return kExitOk;
  const Status written = WriteOutput(options_.json, FormatHeadroomJson(*report));
  return written.ok() ? kExitOk : Fail(written);
}

Status Run::CheckLayerFiles() {
  PLUMB_ASSIGN_OR_RETURN(FileComparison found, CompareLayerFiles(options_.files, graph_, network_options_, inputs_));
  result_.comparisons.push_back(std::move(found));
  return Status::Ok();
}

void Run::AddError(const Status& status) {
  FailBeforeLastLine(status);
  result_.errors.push_back({InOptionWords(status.message()), ExitCodeOf(status)});
}

Status Run::ReadBaseline() {
  if (options_.baseline.empty()) return Status::Ok();
  auto read = Baseline::Read(options_.baseline);
  if (read.status().code() == StatusCode::kNotFound && options_.update_baseline) return Status::Ok();
  if (read.status().code() == StatusCode::kNotFound) {
    return Status::NotFound(read.status().message() + "; --update-baseline makes it");
  }
  if (read.ok()) baseline_ = std::move(*read);
  return read.status();
}

Status Run::JudgeByBaseline() {
  if (options_.baseline.empty() || result_.runs.empty()) return Status::Ok();
  const std::string key = result_.checked.model;
  if (options_.update_baseline) {
    baseline_.Update(key, result_.runs, {options_.reason, options_.until});
    return baseline_.Write(options_.baseline);
  }
  const std::vector<std::string> worse = baseline_.Compare(key, result_.runs);
  for (const std::string& line : worse) Say(PrintableLine("worse than before: " + line) + "\n");
  for (const std::string& line : baseline_.Healed(key, result_.runs)) Say(PrintableLine("healed: " + line) + "\n");
  result_.comparisons.push_back(
      {"baseline " + options_.baseline, worse.empty() ? Verdict::kAligned : Verdict::kWrong, worse});
  return Status::Ok();
}

// A run that judged nothing leaves no table. The JSON comes last, so that it knows what became of the rest.
int Run::Finish() {
  const auto write = [this](const std::string& path, const std::string& text) {
    const Status written = path.empty() ? Status::Ok() : WriteOutput(path, text);
    if (!written.ok()) AddError(written);
  };
  const Status kept = JudgeByBaseline();
  if (!kept.ok()) AddError(kept);
  if (!result_.runs.empty()) write(options_.csv, FormatCsv(result_.runs));
  write(options_.junit, FormatJunit(result_));
  write(options_.markdown, FormatMarkdown(result_));
  if (!options_.html.empty()) write(options_.html, InOptionWords(FormatHtml(result_)));
  write(options_.sarif, FormatSarif(result_));
  write(options_.model_explorer, FormatModelExplorer(result_));
  if (bundle_.begun()) {
    const Status bundled = WriteBundleTo(options_.bundle);
    if (!bundled.ok()) AddError(bundled);
  }
  write(options_.json, FormatJson(result_));
  const Conclusion conclusion = Conclude(result_);
  if (!options_.output.quiet) Say(dump_log_.Lines());
  Say(FormatLastLine(conclusion, options_.output.Colored()) + "\n");
  return conclusion.exit_code;
}

void Run::Say(const std::string& text) const { PrintText(text); }

void Run::Print(const RunReport& run) {
  const OutputOptions& output = options_.output;
  if (output.quiet) return Say(PrintableLine(FormatSummary(result_.checked, run)) + "\n");
  const ReportStyle style = {output.Colored(), options_.full, options_.all, static_cast<size_t>(OutputWidth()),
                             !legend_said_};
  legend_said_ = true;
  Say(InOptionWords(FormatText(result_.checked, run, style)) + "\n");
}

Status Run::OpenSession() {
  SessionOptions options;
  PLUMB_RETURN_IF_ERROR(options_.foreign.Read(&options));
  PLUMB_ASSIGN_OR_RETURN(options.load, options_.model.Read());
  // A bundle goes to strangers: the lines hold paths of whoever exported the model.
  options.load.source_lines = !options_.no_source_lines && options_.bundle.empty();
  PLUMB_ASSIGN_OR_RETURN(options.inputs, options_.input.Read(options_.model.seed));
  options.inputs.exercise = options_.probe;
  options.inputs.exercised_layers = options_.layers;
  options.checks_devices = !options_.device.empty();
  ImportRecord record;
  const bool runs_onnxruntime = options.run_onnxruntime, runs_litert = options.run_litert;
  if (options_.many.given()) {
    const Sample sample = options_.many.OneWithShapes();
    options.inputs.files = sample.files;
    PLUMB_ASSIGN_OR_RETURN(options.inputs.values, sample.Values());
    options.subject = options.golden = {};  // they are many
    options.run_onnxruntime = options.run_litert = false;
    options.load.record = &record;
  }
  auto opened = Session::Open(options_.model.Files(), options);
  if (!opened.ok() && options_.many.given()) {  // that sample may be the broken one
    options.inputs.files.clear(), options.inputs.values.clear();
    opened = Session::Open(options_.model.Files(), options);
  }
  if (!opened.ok()) return opened.status();
  Take(std::move(*opened));
  options_.model.SayWhatWasLoaded(*graph_);
  PrintNotes(options_.output, graph_->notes);
  options.run_onnxruntime = runs_onnxruntime, options.run_litert = runs_litert;
  if (options_.many.given()) PLUMB_RETURN_IF_ERROR(TakeWorstSample(std::move(options)));
  return WriteInputs();
}

void Run::Take(std::unique_ptr<Session> session) {
  session_ = std::move(session);
  graph_ = session_->graph();
  inputs_ = session_->inputs();
}

bool Run::LayersAreLeftOut() const { return options_.many.samples_only || !options_.many.part.empty(); }

std::function<Result<GoldenRun>(const std::map<std::string, Tensor>&)> Run::MakesGolden(
    const SessionOptions& options) const {
  GoldenOptions golden{options.load.input_values, options.python, options.load.signature};
  golden.constants.insert(graph_->chosen_values.begin(), graph_->chosen_values.end());
  const auto make = options.run_litert ? GoldenRun::LiteRt : GoldenRun::OnnxRuntime;
  return [=, model = options_.model.Files().structure](const auto& inputs) { return make(model, inputs, golden); };
}

Status Run::TakeWorstSample(SessionOptions options) {
  ManyRun run{graph_, {}, options_.output.quiet, static_cast<size_t>(options_.output.quiet ? 1000 : OutputWidth())};
  PLUMB_ASSIGN_OR_RETURN(run.options.inputs, options_.input.Read(options_.model.seed));
  run.options.network = network_options_;
  run.options.network.device_index = options_.run.device_index;
  if (run.options.network.num_threads == 0) run.options.network.num_threads = 1;  // as in many processes
  run.options.subject = {options_.foreign.subject, options.pairing};
  run.options.golden = {options_.foreign.golden, options.pairing};
  if (options.run_onnxruntime || options.run_litert) run.options.make_golden = MakesGolden(options);
  run.options.record = options.load.record;
  run.options.results = options_.many.results;
  run.options.model = options_.model.Files().structure;
  PLUMB_ASSIGN_OR_RETURN(const ManyOutcome outcome, RunSamples(options_.many, run, result_.devices));
  Say(InOptionWords(outcome.text));
  if (outcome.failed > 0 && options_.many.part.empty()) {  // of a part its lines say it
    AddError(
        Status::InvalidArgument(fmt::format("{} of {} samples could not be run (above)", outcome.failed, outcome.all)));
  }
  if (LayersAreLeftOut()) {
    if (!outcome.left_out.ok())
      result_.errors.push_back({InOptionWords(outcome.left_out.message()), outcome.exit_code});
    return Status::Ok();
  }
  const Sample& worst = outcome.worst;
  if (outcome.ran) Say(PrintableLine(fmt::format("The worst sample, '{}', layer by layer:", worst.name)) + "\n");
  options.inputs = run.options.inputs;
  options.inputs.files = worst.files;
  PLUMB_ASSIGN_OR_RETURN(options.inputs.values, worst.Values());
  if (worst.files.empty()) options.inputs.name = fmt::format("sample {} of {}", worst.name, options_.many.samples);
  for (const std::string& file : worst.files) result_.checked.reproduce += " -i " + ShellQuoted(file);
  if (worst.files.empty()) result_.checked.reproduce += " --inputs " + ShellQuoted(options_.many.samples);
  if (!outcome.subject.given() && !outcome.golden.given() && !options.run_onnxruntime && !options.run_litert) {
    PLUMB_ASSIGN_OR_RETURN(inputs_, PrepareInputs(options.inputs, *graph_));
    return Status::Ok();
  }
  options.subject = outcome.subject;
  options.golden = outcome.golden;
  options.load.record = nullptr;
  if (!outcome.subject.path.empty()) subject_ = outcome.subject.path;
  if (!outcome.golden.path.empty()) golden_ = outcome.golden.path;
  PLUMB_ASSIGN_OR_RETURN(auto opened, Session::Open(options_.model.Files(), options));
  Take(std::move(opened));
  return Status::Ok();
}

Status Run::WriteInputs() const {
  if (options_.inputs_to.empty()) return Status::Ok();
  std::vector<NamedTensor> tensors;
  for (const auto& [name, value] : inputs_.values) tensors.push_back({name, value});
  return WriteTensors(options_.inputs_to, tensors);
}

Status Run::WriteBundleTo(const std::string& path) const {
  CheckBundle::Contents contents{result_, inputs_.values, {}, options_.with_model, options_.input.files, "", ""};
  contents.subject = subject_;
  contents.golden = golden_;
  for (const std::string& file : {options_.model.Files().structure, graph_ ? graph_->weights_source : std::string()})
    if (!file.empty() && (contents.model.empty() || contents.model[0] != file)) contents.model.push_back(file);
  for (const std::string& named : {contents.subject, contents.golden, path, options_.many.samples})
    contents.paths.push_back(named);
  return bundle_.Write(path, contents);
}

std::function<Status(const std::string&, const Tensor&, const Tensor&)> Run::OnWrong() const {
  if (options_.files.failing_folder.empty()) return {};
  return [this](const std::string& blob, const Tensor& value, const Tensor& reference) {
    return WritePair(options_.files.failing_folder, blob, reference, value);
  };
}

// The first step asked for, else the first guilty one, of the first run that has one.
Status Run::Extract(const StepCase& step) {
  if (extracted_ || (options_.layers.empty() && step.report.verdict != Verdict::kWrong)) return Status::Ok();
  extracted_ = true;
  if (bundle_.begun()) {
    PLUMB_RETURN_IF_ERROR(WriteStepCase(bundle_.case_folder(), options_.model.Files(), *graph_, step, options_.show));
  }
  if (options_.extract.empty()) return Status::Ok();
  PLUMB_RETURN_IF_ERROR(WriteStepCase(options_.extract, options_.model.Files(), *graph_, step, options_.show));
  Say(fmt::format("layer {} '{}' is written to '{}'; README.txt says what is there\n", step.report.step.index,
                  Printable(step.report.step.name), Printable(options_.extract)));
  return Status::Ok();
}

Status Run::CompareWith(const std::string& device, const NamedValues& outputs, const NamedValues& reference) {
  const std::string what = fmt::format("{} outputs against {}", device,
                                       options_.files.reference.empty() ? "NAIVE" : options_.files.reference);
  plumb::Print("{}, rule {}\n", what, rule_.Describe());
  PLUMB_ASSIGN_OR_RETURN(const bool pass, CompareOutputs(rule_, outputs, reference, options_.files.double_batch));
  result_.comparisons.push_back({what, pass ? Verdict::kAligned : Verdict::kWrong});
  return Status::Ok();
}

Status Run::WriteOutputs(const NamedValues& outputs, const NamedValues& reference) const {
  if (options_.files.output_folder.empty()) return Status::Ok();
  for (const auto& [name, value] : reference)
    PLUMB_RETURN_IF_ERROR(WritePair(options_.files.output_folder, name, value, outputs.at(name)));
  return Status::Ok();
}

void Run::Describe(CheckedModel* checked) const {
  CheckedModel described = session_->Describe();
  described.inputs = inputs_.lines;
  described.input_ranges = ExtentsOf(inputs_.values);
  for (const std::string& line : options_.model.constants.Lines()) described.inputs.push_back(line);
  described.precision = checked->precision;
  described.min_tested = checked->min_tested;
  described.expect = checked->expect;
  // With the sizes that were chosen, so that another choice does not make it another run.
  const std::string chosen = InOptionWords(ChosenOptions(described));
  described.reproduce = checked->reproduce + (chosen.empty() ? "" : " " + chosen);
  PutInOptionWords(&described);
  *checked = std::move(described);
}

}  // namespace plumb
