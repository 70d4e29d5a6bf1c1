// model_check: runs a network on devices, operator by operator beside the float64 reference, and names the guilty layer.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "base/cpu.h"
#include "base/file.h"
#include "base/threads.h"
#include "common/cli.h"
#include "common/inputs.h"
#include "device/device.h"
#include "plumb/check.h"
#include "plumb/model.h"
#include "plumb/plumb.h"
#include "plumb/report.h"

namespace plumb {
namespace {

constexpr const char* kExamples = R"(Examples:
  model_check -m squeezenet.tnnproto                     every device present, generated input
  model_check -m net.tnnproto -d X86 -i image.png -n 123.7,116.8,103.9 -s 0.017
  model_check -p net.tnnproto -m net.tnnmodel -d X86,OPENCL --json report.json
  DUMP_OUTPUT_BLOB=1 model_check -m net.tnnproto -d X86  also writes every blob to plumb_dump/
Exit codes: 0 aligned, 1 misaligned or nothing compared, 2 bad usage or input, 3 device not available, 4 failure.)";

struct Options {
  std::string model, proto;
  std::string device = "ALL";
  InputOptions input;
  std::vector<std::string> shapes;
  uint64_t seed = kDefaultSeed;
  int threads = 0;
  std::string max_isa;
  std::string precision = "HIGH";
  bool random_weights = false;
  bool fallback = false;
  bool full = false;
  bool quiet = false;
  std::string json, csv;
};

void Declare(Options* o, CommandLine* c) {
  c->Group("Model");
  c->Add("-m,--model", &o->model, "x.tnnproto (takes x.tnnmodel beside it, else generates weights), or with -p the x.tnnmodel");
  c->Add("-p,--proto", &o->proto, "x.tnnproto, when -m names the tnnmodel");
  c->Add("--shape", &o->shapes, "NAME=1,3,224,224: prepare the network for this input shape; may repeat");
  c->Add("--seed", &o->seed, "of generated weights and inputs");
  c->Flag("--random-weights", &o->random_weights, "generate weights even when there is a tnnmodel");
  c->Group("Device");
  c->Add("-d,--device", &o->device, "NAIVE, X86, ARM, OPENCL, VULKAN, a list (X86,OPENCL) or ALL (those present but NAIVE)");
  c->Add("--threads,-t,--th", &o->threads, "threads, 0: all CPUs");
  c->Add("--max-isa", &o->max_isa, "hold X86 to SSE41, AVX2 or AVX512 (also PLUMB_MAX_CPU_ISA)");
  c->Add("--sp,--precision", &o->precision, "HIGH, NORMAL, LOW or AUTO");
  c->Flag("--fallback", &o->fallback, "let NAIVE run layers that a device lacks; they count as not tested");
  o->input.AddTo(c);
  c->Group("Report");
  c->Flag("--full", &o->full, "every number of every layer");
  c->Add("--json", &o->json, "write the report as JSON (doc/check.md has the schema)");
  c->Add("--csv", &o->csv, "write one row per layer output as CSV");
  c->Flag("--quiet", &o->quiet, "only the last sentence of each device");
}

Result<std::vector<std::string>> DevicesOf(const std::string& text) {
  std::vector<std::string> names;
  for (std::string name : SplitList(text)) {
    std::transform(name.begin(), name.end(), name.begin(), ::toupper);
    if (name != "ALL") {
      names.push_back(name);
      continue;
    }
    for (const DeviceInfo& info : ListDevices()) {
      if (info.present && info.name != "NAIVE") names.push_back(info.name);
    }
    if (names.empty()) names.push_back("NAIVE");
  }
  if (names.empty()) return Status::InvalidArgument("-d: expected a device, found nothing");
  return names;
}

Result<Precision> PrecisionOf(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), ::toupper);
  if (text == "HIGH" || text == "AUTO") return Precision::kHigh;
  if (text == "NORMAL") return Precision::kNormal;
  if (text == "LOW") return Precision::kLow;
  return Status::InvalidArgument("-sp: expected HIGH, NORMAL, LOW or AUTO, found '" + text + "'");
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
  add("-p", o.proto);
  add("-m", o.model);
  for (const std::string& shape : o.shapes) add("--shape", shape);
  for (const std::string& file : o.input.files) add("-i", file);
  add("-n", o.input.bias);
  add("-s", o.input.scale);
  if (o.input.channel_order != "rgb") add("--channel-order", o.input.channel_order);
  add("--input-range", o.input.range);
  add("--seed", std::to_string(o.seed));
  if (o.random_weights) text += " --random-weights";
  if (o.threads != 0) add("--threads", std::to_string(o.threads));
  add("--max-isa", o.max_isa);
  if (o.fallback) text += " --fallback";
  return text;
}

class Run {
 public:
  explicit Run(const Options& options) : options_(options) {}

  Status Load() {
    if (options_.model.empty() && options_.proto.empty()) return Status::InvalidArgument("which model? give it with -m x.tnnproto");
    ModelFiles files{options_.proto.empty() ? options_.model : options_.proto, options_.proto.empty() ? "" : options_.model};
    LoadOptions load;
    load.seed = options_.seed;
    load.random_weights = options_.random_weights;
    PLUMB_ASSIGN_OR_RETURN(load.input_shapes, ParseShapes(options_.shapes));
    PLUMB_RETURN_IF_ERROR(SetMaxIsaIfGiven());
    PLUMB_ASSIGN_OR_RETURN(network_options_.precision, PrecisionOf(options_.precision));
    SetNumThreads(options_.threads);
    PLUMB_ASSIGN_OR_RETURN(Graph graph, LoadModel(files, load));
    graph_ = std::make_shared<const Graph>(std::move(graph));
    PLUMB_ASSIGN_OR_RETURN(const BlobTable blobs, InferShapes(*graph_));
    PLUMB_ASSIGN_OR_RETURN(inputs_, PrepareInputs(options_.input, *graph_, blobs, options_.seed));
    network_options_.num_threads = options_.threads;
    if (options_.fallback) {
      PLUMB_ASSIGN_OR_RETURN(network_options_.fallback, OpenDevice("NAIVE"));
    }
    Describe(files);
    return Status::Ok();
  }

  Result<RunReport> CheckDevice(const std::string& device) {
    PLUMB_ASSIGN_OR_RETURN(auto network, CreateNetwork(graph_, device, network_options_));
    Checker checker;
    PLUMB_RETURN_IF_ERROR(checker.Attach(network.get(), inputs_.values));
    ProgressObserver progress(device, static_cast<int64_t>(network->steps().size()), options_.quiet);
    network->AddObserver(&progress);
    for (const auto& [name, value] : inputs_.values) PLUMB_RETURN_IF_ERROR(network->SetInput(name, value));
    PLUMB_RETURN_IF_ERROR(network->Forward());
    return checker.Finish();
  }

  void Print(const RunReport& run) const {
    const std::string text = options_.quiet ? FormatSummary(subject_, run) + "\n"
                                            : FormatText(subject_, run, {StdoutIsTerminal(), options_.full}) + "\n";
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
  }

  Status WriteReports(const std::vector<RunReport>& runs) const {
    if (!options_.json.empty()) PLUMB_RETURN_IF_ERROR(WriteFile(options_.json, FormatJson(subject_, runs)));
    if (!options_.csv.empty()) PLUMB_RETURN_IF_ERROR(WriteFile(options_.csv, FormatCsv(runs)));
    return Status::Ok();
  }

  const Graph& graph() const { return *graph_; }

 private:
  Status SetMaxIsaIfGiven() {
    if (options_.max_isa.empty()) return CheckIsaEnvironment();
    return SetMaxIsa(options_.max_isa).AddContext("--max-isa");
  }

  void Describe(const ModelFiles& files) {
    subject_.model = files.structure;
    subject_.num_layers = static_cast<int>(graph_->layers.size());
    subject_.weights_generated = graph_->weights_generated;
    subject_.seed = options_.seed;
    subject_.weights = graph_->weights_generated ? std::string("generated: ") + WeightGeneratorVersion() + ", seed " + std::to_string(options_.seed)
                       : files.weights.empty() ? "from the tnnmodel beside it" : "from " + files.weights;
    subject_.inputs = inputs_.lines;
    subject_.num_threads = NumThreads();
    subject_.isa = IsaName();
    subject_.reproduce = Reproduce(options_);
  }

  const Options& options_;
  NetworkOptions network_options_;
  std::shared_ptr<const Graph> graph_;
  NetworkInputs inputs_;
  CheckSubject subject_;
};

int ExitOf(Verdict verdict) {
  return verdict == Verdict::kWrong || verdict == Verdict::kNotTested ? kExitMisaligned : kExitOk;
}

// A device that is not present has an exit code of its own.
int FailOnDevice(const Status& status) { return status.code() == StatusCode::kNotFound ? (Fail(status), kExitNoDevice) : Fail(status); }

int Main(int argc, char** argv) {
  Options options;
  CommandLine command_line("model_check", "Runs a network layer by layer on devices and judges every operator against a float64 reference.", kExamples);
  Declare(&options, &command_line);
  if (const auto done = command_line.Parse(argc, argv)) return *done;
  const auto devices = DevicesOf(options.device);
  if (!devices.ok()) return Fail(devices.status());
  Run run(options);
  const Status loaded = run.Load();
  if (!loaded.ok()) return Fail(loaded);
  for (const std::string& note : run.graph().notes) std::fprintf(stderr, "note: %s\n", note.c_str());
  int exit_code = kExitOk;
  std::vector<RunReport> reports;
  for (const std::string& device : *devices) {
    const auto opened = OpenDevice(device);
    if (!opened.ok()) {
      exit_code = WorseExit(exit_code, FailOnDevice(opened.status()));
      continue;
    }
    auto report = run.CheckDevice(device);
    if (!report.ok()) {
      exit_code = WorseExit(exit_code, Fail(report.status()));
      continue;
    }
    run.Print(*report);
    exit_code = WorseExit(exit_code, ExitOf(report->verdict));
    reports.push_back(std::move(*report));
  }
  const Status written = run.WriteReports(reports);
  if (!written.ok()) exit_code = WorseExit(exit_code, Fail(written));
  return exit_code;
}

}  // namespace
}  // namespace plumb

int main(int argc, char** argv) { return plumb::Main(argc, argv); }
