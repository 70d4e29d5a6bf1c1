#include "model_check/run.h"

#include <cstdio>

#include "base/printable.h"
#include "base/text_table.h"
#include "common/option_words.h"
#include "common/outputs.h"
#include "plumb/check_all.h"
#include "plumb/plumb.h"

namespace plumb {
namespace {

// Shows which layer is being checked.
class ProgressObserver : public Observer {
 public:
  ProgressObserver(const std::string& device, int64_t total, bool quiet) : progress_("check " + device, total, quiet) {}
  Status After(const LayerEvent& event) override {
    progress_.Step(++done_, event.step().name);
    return Status::Ok();
  }

 private:
  Progress progress_;
  int64_t done_ = 0;
};

}  // namespace

int Run::Go() {
  result_.checked.model = options_.model.Files().structure;
  result_.checked.tool_version = std::string("Plumb ") + Version();
  result_.checked.seed = options_.model.seed;
  result_.checked.precision = options_.run.precision;
  result_.checked.reproduce = options_.again;
  Status ready = ParseAsked();
  if (ready.ok()) ready = Load();
  if (ready.ok()) {
    Judge();
  } else {
    AddError(ready);
  }
  return Finish();
}

Status Run::ParseAsked() {
  PLUMB_ASSIGN_OR_RETURN(min_tested_, options_.MinTested());
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
  PLUMB_RETURN_IF_ERROR(OpenSession());
  PLUMB_ASSIGN_OR_RETURN(rule_, options_.files.Rule());
  if (!options_.files.reference.empty() && options_.input.files.empty()) {
    return Status::InvalidArgument("-f compares with outputs of a given input: give that input with -i");
  }
  if (options_.files.double_batch) PLUMB_RETURN_IF_ERROR(DoubleBatch(&inputs_, &network_options_.input_shapes));
  Describe();
  return Status::Ok();
}

void Run::Judge() {
  const auto add = [this](const Status& status) {
    if (!status.ok()) AddError(status);
  };
  if (!options_.files.layer_files.empty()) {
    result_.devices.clear();  // NAIVE alone is compared with the files
    return add(CheckLayerFiles());
  }
  // With --quiet, which prints no report, this is where the headline is said.
  const std::string headline = FormatInputs(result_.checked);
  if (options_.output.quiet && !headline.empty()) Say(headline + "\n");
  if (session_->golden() != nullptr) add(JudgeGolden());
  if (session_->subject() != nullptr) add(JudgeSubject());
  for (AskedDevice& asked : result_.devices) JudgeOn(&asked);
}

Status Run::JudgeGolden() {
  CheckOptions check = CheckOptionsHere();
  check.on_wrong = nullptr;  // -du is for what is judged on this side
  check.layers.clear();      // a conversion is right as a whole
  PLUMB_ASSIGN_OR_RETURN(RunReport report, session_->JudgeGolden(std::move(check)));
  report.reproduce = "--golden " + options_.foreign.golden;
  if (report.verdict == Verdict::kWrong || options_.full) {
    Print(report);
  } else {
    const size_t width = static_cast<size_t>(OutputWidth());
    std::string text = "golden  " + options_.foreign.golden + "\n";
    for (const std::string& note : report.notes) text += "        " + Wrapped(PrintableLine(note), width, 8, 8) + "\n";
    if (options_.output.quiet) text.clear();
    const std::string summary = PrintableLine(FormatSummary(result_.checked, report));
    Say(text + (options_.output.quiet ? summary + "\n" : Wrapped(summary, width, 4) + "\n\n"));
  }
  result_.runs.push_back(std::move(report));
  return Status::Ok();
}

Status Run::JudgeSubject() {
  PLUMB_ASSIGN_OR_RETURN(RunReport report, session_->JudgeSubject(CheckOptionsHere()));
  report.reproduce = "--subject " + options_.foreign.subject;
  Print(report);
  result_.runs.push_back(std::move(report));
  return Status::Ok();
}

// One of ALL that lacks a kernel is left out; a device that was asked for by name fails.
void Run::JudgeOn(AskedDevice* asked) {
  const std::string& device = asked->device;
  const NetworkOptions options = OptionsFor(network_options_, options_.run, device);
  const auto fail = [&](const Status& status, int exit_code) {
    Fail(status);
    asked->state = AskedDevice::State::kFailed;
    asked->error = InOptionWords(status.message());
    asked->exit_code = exit_code;
  };
  const auto opened = OpenDevice(device, options.device_index);
  if (!opened.ok()) return fail(opened.status(), ExitCodeOfDevice(opened.status()));
  auto network = dump_log_.CreateNetwork(graph_, *opened, options, result_.devices.size() > 1);
  if (!network.ok() && network.status().code() == StatusCode::kNotSupported && !asked->by_name) {
    asked->state = AskedDevice::State::kSkipped;
    asked->error = InOptionWords(WithoutKernel(*graph_, **opened, network.status()));
    return Say(device + ": skipped: " + asked->error + "\n" + (options_.output.quiet ? "" : "\n"));
  }
  if (!network.ok()) return fail(network.status(), ExitCodeOf(network.status()));
  NotePrecision(network_options_, **network);
  const Status checked =
      options_.files.outputs_only ? CheckOutputs(device, network->get()) : CheckDevice(device, network->get());
  if (!checked.ok()) return fail(checked, ExitCodeOf(checked));
  asked->state = AskedDevice::State::kRan;
}

Status Run::CheckDevice(const std::string& device, Network* network) {
  CheckOptions check = CheckOptionsHere();
  check.golden = session_->golden();
  Checker checker(check);
  PLUMB_RETURN_IF_ERROR(checker.Attach(network, inputs_.values));
  ProgressObserver progress(device, static_cast<int64_t>(network->steps().size()), options_.output.quiet);
  network->AddObserver(&progress);
  PLUMB_ASSIGN_OR_RETURN(const NamedValues outputs, RunNetwork(network, inputs_.values));
  PLUMB_ASSIGN_OR_RETURN(RunReport report, checker.Finish());
  session_->AddConversion(&report);
  Print(report);
  NamedValues reference;
  for (const OutputSummary& output : report.outputs) {
    if (!output.reference.empty()) reference[output.name] = output.reference;
  }
  result_.runs.push_back(std::move(report));
  if (!options_.files.reference.empty()) {
    PLUMB_ASSIGN_OR_RETURN(reference, ReadReference(options_.files.reference, outputs));
    PLUMB_RETURN_IF_ERROR(CompareWith(device, outputs, reference));
  }
  return WriteOutputs(outputs, reference);
}

Status Run::CheckOutputs(const std::string& device, Network* network) {
  PLUMB_ASSIGN_OR_RETURN(const NamedValues outputs, RunNetwork(network, inputs_.values));
  auto reference = options_.files.reference.empty() ? RunReference(graph_, network_options_, inputs_)
                                                    : ReadReference(options_.files.reference, outputs);
  if (!reference.ok()) return reference.status();
  PLUMB_RETURN_IF_ERROR(CompareWith(device, outputs, *reference));
  return WriteOutputs(outputs, *reference);
}

Status Run::CheckLayerFiles() {
  PLUMB_ASSIGN_OR_RETURN(const Verdict verdict, CompareLayerFiles(options_.files, graph_, network_options_, inputs_));
  result_.comparisons.push_back({"layers against " + options_.files.layer_files + "*", verdict});
  return Status::Ok();
}

void Run::AddError(const Status& status) {
  Fail(status);
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
    baseline_.Update(key, result_.runs);
    return baseline_.Write(options_.baseline);
  }
  const std::vector<std::string> worse = baseline_.Compare(key, result_.runs);
  for (const std::string& line : worse) Say(PrintableLine("worse than before: " + line) + "\n");
  result_.comparisons.push_back({"baseline " + options_.baseline, worse.empty() ? Verdict::kAligned : Verdict::kWrong});
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
  write(options_.json, FormatJson(result_));
  const Conclusion conclusion = Conclude(result_);
  if (!options_.output.quiet) Say(dump_log_.Lines());
  Say(FormatLastLine(conclusion, options_.output.Colored()) + "\n");
  return conclusion.exit_code;
}

CheckOptions Run::CheckOptionsHere() const {
  CheckOptions check;
  check.min_tested = min_tested_;
  check.layers = options_.layers;
  check.on_wrong = OnWrong();
  return check;
}

void Run::Say(const std::string& text) const {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

void Run::Print(const RunReport& run) const {
  const OutputOptions& output = options_.output;
  if (output.quiet) return Say(PrintableLine(FormatSummary(result_.checked, run)) + "\n");
  Say(FormatText(result_.checked, run,
                 {output.Colored(), options_.full, options_.all, static_cast<size_t>(OutputWidth())}) +
      "\n");
}

Status Run::OpenSession() {
  SessionOptions options;
  PLUMB_RETURN_IF_ERROR(options_.foreign.Read(&options));
  PLUMB_ASSIGN_OR_RETURN(options.load, options_.model.Read());
  PLUMB_ASSIGN_OR_RETURN(options.inputs, options_.input.Read(options_.model.seed));
  options.checks_devices = !options_.device.empty();
  PLUMB_ASSIGN_OR_RETURN(session_, Session::Open(options_.model.Files(), options));
  graph_ = session_->graph();
  inputs_ = session_->inputs();
  for (std::string& line : inputs_.lines) line = InOptionWords(line);
  options_.model.SayWhatWasLoaded(*graph_);
  PrintNotes(options_.output, graph_->notes);
  return Status::Ok();
}

std::function<Status(const std::string&, const Tensor&, const Tensor&)> Run::OnWrong() const {
  if (options_.files.failing_folder.empty()) return {};
  return [this](const std::string& blob, const Tensor& value, const Tensor& reference) {
    return WritePair(options_.files.failing_folder, blob, reference, value);
  };
}

Status Run::CompareWith(const std::string& device, const NamedValues& outputs, const NamedValues& reference) {
  const std::string what =
      device + " outputs against " + (options_.files.reference.empty() ? "NAIVE" : options_.files.reference);
  std::printf("%s, rule %s\n", what.c_str(), rule_.Describe().c_str());
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

void Run::Describe() {
  CheckedModel checked = session_->Describe();
  checked.inputs = inputs_.lines;
  for (const std::string& line : options_.model.constants.Lines()) checked.inputs.push_back(line);
  checked.precision = result_.checked.precision;
  checked.min_tested = result_.checked.min_tested;
  checked.reproduce = result_.checked.reproduce;
  result_.checked = std::move(checked);
}

}  // namespace plumb
