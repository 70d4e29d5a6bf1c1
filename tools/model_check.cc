// model_check: runs a network on devices, operator by operator beside the float64 reference, and names the guilty layer.
#include <cstdio>

#include "base/cpu.h"
#include "base/file.h"
#include "base/threads.h"
#include "common/cli.h"
#include "common/inputs.h"
#include "common/model_options.h"
#include "foreign.h"
#include "golden_run.h"
#include "model_check_files.h"
#include "plumb/check.h"
#include "plumb/plumb.h"
#include "plumb/report.h"

namespace plumb {
namespace {

constexpr const char* kExamples = R"(Examples:
  model_check -m squeezenet.tnnproto                     every device present, generated input
  model_check -m net.tnnproto -d X86 -i image.png -n 123.7,116.8,103.9 -s 0.017
  model_check -p net.tnnproto -m net.tnnmodel -d X86,OPENCL --json report.json
  model_check -m net.tnnproto --subject dump/            judges what another runtime dumped
  model_check -m net.tnnproto -d X86 --golden ort.npz    NAIVE and X86 beside the original framework
  DUMP_OUTPUT_BLOB=1 model_check -m net.tnnproto -d X86  also writes every blob to plumb_dump/
Exit codes: 0 aligned, 1 misaligned or nothing compared, 2 bad usage or input, 3 device not available, 4 failure.)";

struct Options {
  ModelOptions model;
  RunOptions run;
  std::string device;
  InputOptions input;
  ForeignOptions foreign;
  FileOptions files;
  bool full = false;
  bool quiet = false;
  std::string json, csv;
};

void Declare(Options* o, CommandLine* c) {
  o->model.AddTo(c);
  c->Group("Device");
  c->Add("-d,--device", &o->device, "NAIVE, X86, ARM, OPENCL, VULKAN, a list (X86,OPENCL) or ALL, the default (those present but NAIVE)");
  o->run.AddTo(c);
  o->input.AddTo(c);
  o->foreign.AddTo(c);
  o->files.AddTo(c);
  c->Group("Report");
  c->Flag("--full", &o->full, "every number of every layer");
  c->Add("--json", &o->json, "write the report as JSON (doc/check.md has the schema)");
  c->Add("--csv", &o->csv, "write one row per layer output as CSV");
  c->Flag("--quiet", &o->quiet, "only the last sentence of each device");
}

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

std::string Quoted(const std::string& text) {
  if (text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./,=:") == std::string::npos && !text.empty()) return text;
  std::string quoted = "'";
  for (char c : text) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

// The command line without -d and the report options.
std::string Reproduce(const Options& o) {
  std::string text = "model_check";
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) text += std::string(" ") + name + " " + Quoted(value);
  };
  add("-p", o.model.proto);
  add("-m", o.model.model);
  for (const std::string& shape : o.model.shapes) add("--shape", shape);
  for (const std::string& constant : o.model.constants.texts) add("--constant", constant);
  for (const std::string& file : o.input.files) add("-i", file);
  add("-n", o.input.bias);
  add("-s", o.input.scale);
  if (o.input.channel_order != "rgb") add("--channel-order", o.input.channel_order);
  add("--input-range", o.input.range);
  add("--golden", o.foreign.golden);
  add("--names", o.foreign.names);
  if (o.foreign.pair_by_order) text += " --pair-by-order";
  add("--layout", o.foreign.layout);
  add("--arithmetic", o.foreign.arithmetic);
  for (const std::string& spec : o.foreign.tensors) add("--tensors", spec);
  add("--seed", std::to_string(o.model.seed));
  if (o.model.random_weights) text += " --random-weights";
  if (o.run.threads != 0) add("--threads", std::to_string(o.run.threads));
  add("--max-isa", o.run.max_isa);
  if (o.run.fallback) text += " --fallback";
  if (o.files.double_batch) text += " -b";
  return text;
}

class Run {
 public:
  explicit Run(const Options& options) : options_(options), foreign_(options.foreign) {}

  Status Load() {
    PLUMB_ASSIGN_OR_RETURN(network_options_, options_.run.Apply());
    PLUMB_RETURN_IF_ERROR(foreign_.Open());
    PLUMB_RETURN_IF_ERROR(LoadGraph());
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

  bool has_subject() const { return foreign_.subject() != nullptr; }
  bool has_golden() const { return foreign_.golden() != nullptr; }

  // The golden judged like a device: where it computed a layer otherwise than the model here says, the conversion is wrong.
  Result<Verdict> JudgeGolden() {
    PLUMB_ASSIGN_OR_RETURN(RunReport report, foreign_.JudgeGolden(*graph_, inputs_));
    if (report.verdict == Verdict::kWrong || options_.full) {
      Print(report);
    } else {
      std::printf("golden  %s\n", options_.foreign.golden.c_str());
      for (const std::string& note : report.notes) std::printf("        %s\n", note.c_str());
      std::printf("%s\n\n", FormatSummary(subject_, report).c_str());
      std::fflush(stdout);
    }
    const Verdict verdict = report.verdict;
    reports_.push_back(std::move(report));
    return verdict;
  }

  Result<Verdict> JudgeSubject() {
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

  // With --quiet, which prints no report, this is where the headline is said.
  bool inputs_differ() const {
    const std::string headline = FormatInputs(subject_);
    if (options_.quiet && !headline.empty()) std::printf("%s\n", headline.c_str());
    return !headline.empty();
  }

  // Judges every layer; compares the outputs with -f when it is given; writes what -do and -du ask for.
  Result<Verdict> CheckDevice(const std::string& device) {
    PLUMB_ASSIGN_OR_RETURN(auto network, CreateNetwork(graph_, device, OptionsFor(network_options_, options_.run, device)));
    NotePrecision(network_options_, *network);
    CheckOptions check;
    check.on_wrong = OnWrong();
    check.golden = foreign_.golden();
    Checker checker(check);
    PLUMB_RETURN_IF_ERROR(checker.Attach(network.get(), inputs_.values));
    ProgressObserver progress(device, static_cast<int64_t>(network->steps().size()), options_.quiet);
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

  // -e: network outputs only, against -f or NAIVE.
  Result<Verdict> CheckOutputs(const std::string& device) {
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

  Result<Verdict> CheckLayerFiles() { return CompareLayerFiles(options_.files, graph_, network_options_, inputs_); }

  void Print(const RunReport& run) const {
    const std::string text = options_.quiet ? FormatSummary(subject_, run) + "\n"
                                            : FormatText(subject_, run, {StdoutIsTerminal(), options_.full}) + "\n";
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
  }

  Status WriteReports() const {
    const std::vector<RunReport>& runs = reports_;
    if (!options_.json.empty()) PLUMB_RETURN_IF_ERROR(WriteFile(options_.json, FormatJson(subject_, runs)));
    if (!options_.csv.empty()) PLUMB_RETURN_IF_ERROR(WriteFile(options_.csv, FormatCsv(runs)));
    return Status::Ok();
  }

 private:
  Status CheckConstants() const {
    PLUMB_ASSIGN_OR_RETURN(const auto constants, options_.model.constants.Read());
    return foreign_.CheckConstants(constants);
  }

  // At the size that golden or subject ran at, when there is one.
  Status LoadGraph() {
    PLUMB_ASSIGN_OR_RETURN(const auto open_shapes, foreign_.TensorShapes());
    PLUMB_ASSIGN_OR_RETURN(graph_, options_.model.Load(open_shapes));
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

  // The golden gets the input that the check would have without it.
  Status MakeGolden(const BlobTable& blobs) {
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

  Status LoadInputs(const BlobTable& blobs) {
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
    return Status::Ok();
  }

  void AddConversion(RunReport* report) const {
    if (has_golden() && !reports_.empty() && reports_[0].is_golden) Foreign::AddConversion(reports_[0], report);
  }

  std::function<Status(const std::string&, const Tensor&, const Tensor&)> OnWrong() const {
    if (options_.files.failing_folder.empty()) return {};
    return [this](const std::string& blob, const Tensor& value, const Tensor& reference) {
      return WritePair(options_.files.failing_folder, blob, reference, value);
    };
  }

  Status Forward(Network* network) const {
    for (const auto& [name, value] : inputs_.values) PLUMB_RETURN_IF_ERROR(network->SetInput(name, value));
    return network->Forward();
  }

  Result<bool> CompareWith(const std::string& device, const NamedValues& outputs, const NamedValues& reference) const {
    std::printf("%s outputs against %s, rule %s\n", device.c_str(), options_.files.reference.empty() ? "NAIVE" : options_.files.reference.c_str(),
                rule_.Describe().c_str());
    return CompareOutputs(rule_, outputs, reference, options_.files.double_batch);
  }

  Status WriteOutputs(const NamedValues& outputs, const NamedValues& reference) const {
    if (options_.files.output_folder.empty()) return Status::Ok();
    for (const auto& [name, value] : reference) PLUMB_RETURN_IF_ERROR(WritePair(options_.files.output_folder, name, value, outputs.at(name)));
    return Status::Ok();
  }

  void Describe() {
    subject_.model = options_.model.Files().structure;
    subject_.num_layers = static_cast<int>(graph_->layers.size());
    subject_.weights_generated = graph_->weights_generated;
    subject_.seed = options_.model.seed;
    subject_.weights = options_.model.DescribeWeights(*graph_);
    subject_.inputs = inputs_.lines;
    for (const std::string& line : options_.model.constants.Lines()) subject_.inputs.push_back(line);
    subject_.num_threads = NumThreads();
    subject_.isa = IsaName();
    subject_.reproduce = Reproduce(options_);
  }

  const Options& options_;
  Foreign foreign_;
  GoldenRun golden_run_;
  NetworkOptions network_options_;
  std::shared_ptr<const Graph> graph_;
  NetworkInputs inputs_;
  ComparisonRule rule_;
  CheckSubject subject_;
  std::vector<RunReport> reports_;
};

int ExitOf(Verdict verdict) {
  return verdict == Verdict::kWrong || verdict == Verdict::kNotTested ? kExitMisaligned : kExitOk;
}

int Main(int argc, char** argv) {
  Options options;
  CommandLine command_line("model_check", "Runs a network layer by layer on devices and judges every operator against a float64 reference.", kExamples);
  Declare(&options, &command_line);
  if (const auto done = command_line.Parse(argc, argv)) return *done;
  // A subject is judged alone unless a device is asked for.
  auto devices = options.device.empty() && !options.foreign.subject.empty() ? Result<std::vector<std::string>>(std::vector<std::string>())
                                                                           : ParseDevices(options.device.empty() ? "ALL" : options.device);
  if (!devices.ok()) return Fail(devices.status());
  const Status index = CheckDeviceIndex(options.run, *devices);
  if (!index.ok()) return Fail(index);
  Run run(options);
  const Status loaded = run.Load();
  if (!loaded.ok()) return Fail(loaded);
  if (!options.files.layer_files.empty()) {
    const auto verdict = run.CheckLayerFiles();
    return verdict.ok() ? ExitOf(*verdict) : Fail(verdict.status());
  }
  int exit_code = run.inputs_differ() ? kExitMisaligned : kExitOk;
  if (run.has_golden()) {
    const auto verdict = run.JudgeGolden();
    exit_code = WorseExit(exit_code, verdict.ok() ? ExitOf(*verdict) : Fail(verdict.status()));
  }
  if (run.has_subject()) {
    const auto verdict = run.JudgeSubject();
    exit_code = WorseExit(exit_code, verdict.ok() ? ExitOf(*verdict) : Fail(verdict.status()));
  }
  for (const std::string& device : *devices) {
    const auto opened = OpenDevice(device, OptionsFor({}, options.run, device).device_index);
    if (!opened.ok()) {
      exit_code = WorseExit(exit_code, FailOnDevice(opened.status()));
      continue;
    }
    const auto verdict = options.files.outputs_only ? run.CheckOutputs(device) : run.CheckDevice(device);
    exit_code = WorseExit(exit_code, verdict.ok() ? ExitOf(*verdict) : Fail(verdict.status()));
  }
  const Status written = run.WriteReports();
  if (!written.ok()) exit_code = WorseExit(exit_code, Fail(written));
  return exit_code;
}

}  // namespace
}  // namespace plumb

int main(int argc, char** argv) { return plumb::Main(argc, argv); }
