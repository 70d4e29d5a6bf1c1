#include "model_check/run.h"

#include <cstdio>

#include "base/cpu.h"
#include "base/printable.h"
#include "common/outputs.h"
#include "base/threads.h"
#include "plumb/check.h"
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

Status Run::Load() {
  PLUMB_ASSIGN_OR_RETURN(network_options_, options_.run.Apply());
  PLUMB_RETURN_IF_ERROR(foreign_.Open());
  PLUMB_RETURN_IF_ERROR(LoadGraph());
  PrintNotes(options_.output, graph_->notes);
  PLUMB_ASSIGN_OR_RETURN(const BlobTable blobs, InferShapes(*graph_));
  if (foreign_.wants_onnxruntime()) PLUMB_RETURN_IF_ERROR(MakeGolden(blobs));
  PLUMB_RETURN_IF_ERROR(CheckConstants());
  PLUMB_RETURN_IF_ERROR(foreign_.Pair(*graph_, blobs));
  PLUMB_RETURN_IF_ERROR(LoadInputs(blobs));
  PLUMB_ASSIGN_OR_RETURN(rule_, options_.files.Rule());
  if (!options_.files.reference.empty() && options_.input.files.empty()) {
    return Status::InvalidArgument("-f compares with outputs of a given input: give that input with -i");
  }
  if (options_.files.double_batch) PLUMB_RETURN_IF_ERROR(DoubleBatch(&inputs_, &network_options_.input_shapes));
  Describe();
  return Status::Ok();
}

Result<Verdict> Run::JudgeGolden() {
  PLUMB_ASSIGN_OR_RETURN(RunReport report, foreign_.JudgeGolden(*graph_, inputs_));
  if (report.verdict == Verdict::kWrong || options_.full) {
    Print(report);
  } else {
    std::printf("golden  %s\n", options_.foreign.golden.c_str());
    for (const std::string& note : report.notes) std::printf("        %s\n", PrintableLine(note).c_str());
    std::printf("%s\n\n", FormatSummary(subject_, report).c_str());
    std::fflush(stdout);
  }
  const Verdict verdict = report.verdict;
  reports_.push_back(std::move(report));
  return verdict;
}

Result<Verdict> Run::JudgeSubject() {
  CheckOptions check;
  check.on_wrong = OnWrong();
  check.golden = foreign_.golden();
  PLUMB_ASSIGN_OR_RETURN(RunReport report, foreign_.JudgeSubject(*graph_, inputs_, std::move(check)));
  AddConversion(&report);
  Print(report);
  const Verdict verdict = report.verdict;
  reports_.push_back(std::move(report));
  return verdict;
}

bool Run::inputs_differ() const {
  const std::string headline = FormatInputs(subject_);
  if (options_.output.quiet && !headline.empty()) std::printf("%s\n", headline.c_str());
  return !headline.empty();
}

Result<Verdict> Run::CheckDevice(const std::string& device) {
  PLUMB_ASSIGN_OR_RETURN(auto network, CreateNetwork(graph_, device, OptionsFor(network_options_, options_.run, device)));
  NotePrecision(network_options_, *network);
  CheckOptions check;
  check.on_wrong = OnWrong();
  check.golden = foreign_.golden();
  Checker checker(check);
  PLUMB_RETURN_IF_ERROR(checker.Attach(network.get(), inputs_.values));
  ProgressObserver progress(device, static_cast<int64_t>(network->steps().size()), options_.output.quiet);
  network->AddObserver(&progress);
  PLUMB_RETURN_IF_ERROR(Forward(network.get()));
  PLUMB_ASSIGN_OR_RETURN(RunReport report, checker.Finish());
  AddConversion(&report);
  Print(report);
  Verdict verdict = report.verdict;
  NamedValues reference;
  for (const OutputSummary& output : report.outputs) {
    if (!output.reference.empty()) reference[output.name] = output.reference;
  }
  reports_.push_back(std::move(report));
  PLUMB_ASSIGN_OR_RETURN(const NamedValues outputs, OutputsOf(*network));
  if (!options_.files.reference.empty()) {
    PLUMB_ASSIGN_OR_RETURN(reference, ReadReference(options_.files.reference, outputs));
    PLUMB_ASSIGN_OR_RETURN(const bool pass, CompareWith(device, outputs, reference));
    if (!pass) verdict = Verdict::kWrong;
  }
  PLUMB_RETURN_IF_ERROR(WriteOutputs(outputs, reference));
  return verdict;
}

Result<Verdict> Run::CheckOutputs(const std::string& device) {
  PLUMB_ASSIGN_OR_RETURN(auto network, CreateNetwork(graph_, device, OptionsFor(network_options_, options_.run, device)));
  NotePrecision(network_options_, *network);
  PLUMB_RETURN_IF_ERROR(Forward(network.get()));
  PLUMB_ASSIGN_OR_RETURN(const NamedValues outputs, OutputsOf(*network));
  auto reference = options_.files.reference.empty() ? RunReference(graph_, network_options_, inputs_) : ReadReference(options_.files.reference, outputs);
  if (!reference.ok()) return reference.status();
  PLUMB_ASSIGN_OR_RETURN(const bool pass, CompareWith(device, outputs, *reference));
  PLUMB_RETURN_IF_ERROR(WriteOutputs(outputs, *reference));
  return pass ? Verdict::kAligned : Verdict::kWrong;
}

void Run::Print(const RunReport& run) const {
  const std::string text = options_.output.quiet ? FormatSummary(subject_, run) + "\n"
                                          : FormatText(subject_, run, {options_.output.Colored(), options_.full}) + "\n";
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

Status Run::WriteReports() const {
  const std::vector<RunReport>& runs = reports_;
  if (!options_.json.empty()) PLUMB_RETURN_IF_ERROR(WriteOutput(options_.json, FormatJson(subject_, runs)));
  if (!options_.csv.empty()) PLUMB_RETURN_IF_ERROR(WriteOutput(options_.csv, FormatCsv(runs)));
  return Status::Ok();
}

Status Run::CheckConstants() const {
  PLUMB_ASSIGN_OR_RETURN(const auto constants, options_.model.constants.Read());
  return foreign_.CheckConstants(constants);
}

Status Run::LoadGraph() {
  std::map<std::string, Shape> open_shapes = ShapesOfFiles(options_.input);
  PLUMB_ASSIGN_OR_RETURN(const auto tensor_shapes, foreign_.TensorShapes());
  open_shapes.insert(tensor_shapes.begin(), tensor_shapes.end());
  PLUMB_RETURN_IF_ERROR(CheckConstants());
  auto loaded = options_.model.Load(open_shapes);
  if (!loaded.ok() && !tensor_shapes.empty()) {  // at shapes of another model it may not even load
    const auto alone = options_.model.Load({}, OpenDims::kSmallest);
    if (alone.ok()) PLUMB_RETURN_IF_ERROR(foreign_.CheckSameModel(**alone));
  }
  if (!loaded.ok()) return loaded.status();
  graph_ = *loaded;
  PLUMB_RETURN_IF_ERROR(foreign_.CheckSameModel(*graph_));
  PLUMB_ASSIGN_OR_RETURN(const auto given, ParseShapes(options_.model.shapes));
  PLUMB_ASSIGN_OR_RETURN(const auto shapes, foreign_.InputShapes(*graph_, given));
  if (shapes == given) return Status::Ok();
  ModelOptions resized = options_.model;
  resized.shapes.clear();
  for (const auto& [name, shape] : shapes) {
    const std::string text = shape.ToString();
    resized.shapes.push_back(name + "=" + text.substr(1, text.size() - 2));
  }
  PLUMB_ASSIGN_OR_RETURN(graph_, resized.Load(open_shapes));
  return Status::Ok();
}

Status Run::MakeGolden(const BlobTable& blobs) {
  const auto prepare = [&] { return PrepareInputs(options_.input, *graph_, blobs, options_.model.seed); };
  NetworkInputs inputs;
  if (options_.input.files.empty() && !options_.foreign.subject.empty()) {
    ForeignOptions alone = options_.foreign;
    alone.golden.clear();
    Foreign subject(alone);
    std::vector<InputMatch> none;
    PLUMB_RETURN_IF_ERROR(subject.Open());
    PLUMB_RETURN_IF_ERROR(subject.Pair(*graph_, blobs));
    PLUMB_ASSIGN_OR_RETURN(inputs, subject.Inputs(*graph_, nullptr, prepare, true, &none));
  } else {
    PLUMB_ASSIGN_OR_RETURN(inputs, prepare());
  }
  PLUMB_ASSIGN_OR_RETURN(
      const std::string folder,
      golden_run_.OnnxRuntime(options_.model.Files().structure, inputs.values, options_.model.constants.texts));
  return foreign_.OpenGolden(folder);
}

Status Run::LoadInputs(const BlobTable& blobs) {
  const auto prepare = [&] { return PrepareInputs(options_.input, *graph_, blobs, options_.model.seed); };
  if (!options_.foreign.any()) {
    PLUMB_ASSIGN_OR_RETURN(inputs_, prepare());
    return Status::Ok();
  }
  NetworkInputs given;
  if (!options_.input.files.empty()) {
    PLUMB_ASSIGN_OR_RETURN(given, prepare());
  }
  const bool device_needs_them = options_.foreign.subject.empty() || !options_.device.empty();
  PLUMB_ASSIGN_OR_RETURN(inputs_, foreign_.Inputs(*graph_, options_.input.files.empty() ? nullptr : &given, prepare, device_needs_them,
                                                  &subject_.input_matches));
  if (options_.input.range.empty() || inputs_.generated || foreign_.wants_onnxruntime()) return Status::Ok();
  return Status::InvalidArgument("--input-range does nothing here: no network input is generated, golden or subject have them");
}

void Run::AddConversion(RunReport* report) const {
  if (has_golden() && !reports_.empty() && reports_[0].is_golden) Foreign::AddConversion(reports_[0], report);
}

std::function<Status(const std::string&, const Tensor&, const Tensor&)> Run::OnWrong() const {
  if (options_.files.failing_folder.empty()) return {};
  return [this](const std::string& blob, const Tensor& value, const Tensor& reference) {
    return WritePair(options_.files.failing_folder, blob, reference, value);
  };
}

Status Run::Forward(Network* network) const {
  for (const auto& [name, value] : inputs_.values) PLUMB_RETURN_IF_ERROR(network->SetInput(name, value));
  return network->Forward();
}

Result<bool> Run::CompareWith(const std::string& device, const NamedValues& outputs, const NamedValues& reference) const {
  std::printf("%s outputs against %s, rule %s\n", device.c_str(), options_.files.reference.empty() ? "NAIVE" : options_.files.reference.c_str(),
              rule_.Describe().c_str());
  return CompareOutputs(rule_, outputs, reference, options_.files.double_batch);
}

Status Run::WriteOutputs(const NamedValues& outputs, const NamedValues& reference) const {
  if (options_.files.output_folder.empty()) return Status::Ok();
  for (const auto& [name, value] : reference) PLUMB_RETURN_IF_ERROR(WritePair(options_.files.output_folder, name, value, outputs.at(name)));
  return Status::Ok();
}

void Run::Describe() {
  subject_.model = options_.model.Files().structure;
  subject_.num_layers = static_cast<int>(graph_->layers.size());
  subject_.weights_generated = graph_->weights_generated;
  subject_.seed = options_.model.seed;
  subject_.weights = options_.model.DescribeWeights(*graph_);
  subject_.inputs = inputs_.lines;
  for (const std::string& line : options_.model.constants.Lines()) subject_.inputs.push_back(line);
  subject_.num_threads = NumThreads();
  subject_.isa = IsaName();
  subject_.reproduce = options_.again;
}

}  // namespace plumb
