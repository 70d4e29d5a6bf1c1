// SPDX-License-Identifier: Apache-2.0
#include "plumb/session.h"

#include <fmt/core.h>

#include "base/cpu.h"
#include "base/threads.h"
#include "check/core/coverage.h"
#include "interop/dump_graph.h"
#include "plumb/plumb.h"
#include "session/foreign.h"
#include "session/foreign_judge.h"

namespace plumb {
namespace {

// A step's members are the dump's layers, not what these became here.
void NameMembers(const DumpGraph& carried, RunReport* report) {
  for (LayerReport& layer : report->layers) {
    std::vector<MemberInfo> members;
    for (const MemberInfo& member : layer.step.members) {
      const auto type = member.nodes.empty() ? carried.types.end() : carried.types.find(member.nodes[0]);
      if (type == carried.types.end()) continue;
      if (!members.empty() && members.back().name == type->first) members.pop_back();
      members.push_back({member.index, type->first, type->second, {type->first}, ""});
    }
    if (members.empty()) continue;
    layer.step.type = members.back().type;
    layer.step.members = std::move(members);
  }
}

// Layers of a dump that its graph lacks are not tested, and count.
void AddLeftOut(const std::vector<LayerLeftOut>& left_out, std::vector<std::string> network_outputs, double min_tested,
                RunReport* report) {
  for (const LayerLeftOut& layer : left_out) {
    LayerReport untested;
    untested.step.index = layer.index;
    untested.step.name = layer.name;
    untested.step.type = layer.type;
    untested.step.members.push_back({layer.index, layer.name, layer.type, {layer.name}, ""});
    untested.step.outputs.emplace_back();
    untested.step.outputs.back().blob = layer.name;
    untested.reason = layer.reason;
    untested.values = layer.values;
    untested.multiply_adds = layer.multiply_adds;
    if (layer.is_output) network_outputs.push_back(layer.name);
    report->layers.push_back(std::move(untested));
  }
  if (!left_out.empty()) ApplyCoverage(network_outputs, min_tested, report);
}

}  // namespace

struct Session::Impl {
  Impl(ModelFiles files, const SessionOptions& asked)
      : model(std::move(files)),
        options(asked),
        foreign(PairingOf(model, asked), asked.subject.given() && HasGolden(asked)) {
    if (!options.load.evaluator) options.load.evaluator = ReferenceEvaluator();
    if (options.subject.given() || HasGolden(options)) options.load.record = &record;
  }
  static bool MakesGolden(const SessionOptions& options) { return options.run_onnxruntime || options.run_litert; }
  static bool HasGolden(const SessionOptions& options) { return options.golden.given() || MakesGolden(options); }
  // Blobs of a dump's own graph are in its own layout.
  static PairingOptions PairingOf(const ModelFiles& model, const SessionOptions& asked) {
    PairingOptions pairing = asked.pairing;
    if (model.structure.empty() && pairing.layout.empty()) pairing.layout = "NCHW";
    return pairing;
  }
  bool HasInputs() const { return !options.inputs.files.empty() || !options.inputs.values.empty(); }

  Status Open();
  Status CheckAsked() const;
  Status LoadGraph();
  Status Load(const LoadOptions& load);
  Result<NetworkInputs> Prepare() const { return PrepareInputs(options.inputs, *graph, blobs); }
  Status MakeGolden();
  Status ReadInputs();
  // What the golden's trial found, said of each layer of another run.
  void AddConversion(RunReport* report) const {
    if (golden_report) CopyConversion(*golden_report, report);
  }

  ModelFiles model;
  SessionOptions options;
  Foreign foreign;
  std::optional<GoldenRun> golden_run;  // whose folder the golden's tensors are read from
  std::shared_ptr<const Graph> graph;
  std::shared_ptr<const FileNodes> file_nodes;
  ImportRecord record;  // for golden and subject
  BlobTable blobs;
  NetworkInputs inputs;
  std::vector<InputMatch> matches;
  std::optional<RunReport> golden_report;
  DumpGraph carried;  // what else a dump says beside its graph
};

Status Session::Impl::CheckAsked() const {
  if (options.golden.given() + options.run_onnxruntime + options.run_litert > 1) {
    return Status::InvalidArgument(fmt::format("SessionOptions::{} and SessionOptions::{} are two goldens; give one",
                                               options.golden.given() ? "golden" : "run_litert",
                                               options.run_onnxruntime ? "run_onnxruntime" : "run_litert"));
  }
  if (model.structure.empty() && (HasGolden(options) || options.checks_devices || options.subject.path.empty())) {
    return Status::InvalidArgument(
        "no model is named: the graph that a dump carries is for judging that dump, the subject, alone");
  }
  return Status::Ok();
}

Status Session::Impl::Open() {
  PLUMB_RETURN_IF_ERROR(CheckAsked());
  if (options.subject.given()) PLUMB_RETURN_IF_ERROR(foreign.OpenSubject(options.subject));
  if (options.golden.given()) PLUMB_RETURN_IF_ERROR(foreign.OpenGolden(options.golden));
  PLUMB_RETURN_IF_ERROR(LoadGraph());
  PLUMB_ASSIGN_OR_RETURN(blobs, InferShapes(*graph));
  if (MakesGolden(options)) PLUMB_RETURN_IF_ERROR(MakeGolden());
  PLUMB_RETURN_IF_ERROR(foreign.CheckConstants(options.load.input_values));
  PLUMB_RETURN_IF_ERROR(foreign.Pair(*graph, blobs, record));
  return ReadInputs();
}

Status Session::Impl::Load(const LoadOptions& load) {
  if (model.structure.empty()) {
    auto found = LoadDumpGraph(options.subject.path, load);
    if (!found.ok()) return Status(found.status().code(), "no model is named, and " + found.status().message());
    carried = std::move(*found);
    graph = std::make_shared<const Graph>(std::move(carried.graph));
    return Status::Ok();
  }
  const auto nodes = std::make_shared<FileNodes>();
  LoadOptions with_nodes = load;
  with_nodes.file_nodes = nodes.get();
  PLUMB_ASSIGN_OR_RETURN(Graph loaded, LoadModel(model, with_nodes));
  graph = std::make_shared<const Graph>(std::move(loaded));
  if (!nodes->nodes.empty()) file_nodes = nodes;
  return Status::Ok();
}

// At the size that golden or subject ran at, when there is one.
Status Session::Impl::LoadGraph() {
  LoadOptions load = options.load;
  const auto file_shapes = ShapesOfFiles(options.inputs.files);
  load.open_shapes.insert(file_shapes.begin(), file_shapes.end());
  for (const auto& [name, value] : options.inputs.values) load.open_shapes.emplace(name, value.shape());
  PLUMB_ASSIGN_OR_RETURN(const auto tensor_shapes, foreign.TensorShapes());
  load.open_shapes.insert(tensor_shapes.begin(), tensor_shapes.end());
  // Other tensors are of one size, which none may guess.
  if (options.subject.given() || options.golden.given()) load.open_dims = OpenDims::kRefuse;
  PLUMB_RETURN_IF_ERROR(foreign.CheckConstants(load.input_values));
  const Status loaded = Load(load);
  if (!loaded.ok() && !tensor_shapes.empty()) {  // at shapes of another model it may not even load
    LoadOptions small = options.load;
    small.open_dims = OpenDims::kSmallest;
    if (Load(small).ok()) PLUMB_RETURN_IF_ERROR(foreign.CheckSameModel(*graph));
  }
  PLUMB_RETURN_IF_ERROR(loaded);
  PLUMB_RETURN_IF_ERROR(foreign.CheckSameModel(*graph));
  PLUMB_ASSIGN_OR_RETURN(const auto shapes, foreign.InputShapes(*graph, load.input_shapes));
  if (shapes == load.input_shapes) return Status::Ok();
  load.input_shapes = shapes;
  return Load(load);
}

// The golden gets the inputs that would be used without it.
Status Session::Impl::MakeGolden() {
  NetworkInputs used;
  if (!HasInputs() && options.subject.given()) {
    std::vector<InputMatch> none;
    PLUMB_RETURN_IF_ERROR(foreign.Pair(*graph, blobs, record));  // the subject alone: there is no golden yet
    PLUMB_ASSIGN_OR_RETURN(used, foreign.Inputs(
                                     *graph, nullptr, "", [this] { return Prepare(); }, true, &none));
  } else {
    PLUMB_ASSIGN_OR_RETURN(used, Prepare());
  }
  const auto make = options.run_litert ? GoldenRun::LiteRt : GoldenRun::OnnxRuntime;
  std::map<std::string, Tensor> constants = options.load.input_values;
  constants.insert(graph->chosen_values.begin(), graph->chosen_values.end());
  auto run = make(model.structure, used.values, {constants, options.python, options.load.signature});
  if (!run.ok()) {
    return run.status().AddContext(options.run_litert ? "SessionOptions::run_litert"
                                                      : "SessionOptions::run_onnxruntime");
  }
  golden_run = std::move(*run);
  return foreign.OpenGolden({golden_run->folder(), {}});
}

Status Session::Impl::ReadInputs() {
  if (!options.subject.given() && !HasGolden(options)) {
    PLUMB_ASSIGN_OR_RETURN(inputs, Prepare());
    return Status::Ok();
  }
  NetworkInputs given;
  if (HasInputs()) {
    PLUMB_ASSIGN_OR_RETURN(given, Prepare());
  }
  const bool needs_all = !options.subject.given() || options.checks_devices;
  PLUMB_ASSIGN_OR_RETURN(inputs, foreign.Inputs(
                                     *graph, HasInputs() ? &given : nullptr, options.inputs.name,
                                     [this] { return Prepare(); }, needs_all, &matches));
  if (inputs.generated || MakesGolden(options)) return Status::Ok();
  const char* none = "does nothing here: no network input is generated, golden or subject have them";
  if (options.inputs.exercise) return Status::InvalidArgument(fmt::format("InputOptions::exercise {}", none));
  return options.inputs.range ? Status::InvalidArgument(fmt::format("InputOptions::range {}", none)) : Status::Ok();
}

Session::Session(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Session::~Session() = default;

Result<std::unique_ptr<Session>> Session::Open(const ModelFiles& model, const SessionOptions& options) {
  auto impl = std::make_unique<Impl>(model, options);
  PLUMB_RETURN_IF_ERROR(impl->Open());
  return std::unique_ptr<Session>(new Session(std::move(impl)));
}

Result<std::unique_ptr<Session>> Session::Open(const std::string& model, const SessionOptions& options) {
  return Open(ModelFiles{model, ""}, options);
}

const std::shared_ptr<const Graph>& Session::graph() const { return impl_->graph; }
const std::shared_ptr<const FileNodes>& Session::file_nodes() const { return impl_->file_nodes; }
const NetworkInputs& Session::inputs() const { return impl_->inputs; }
const std::vector<InputMatch>& Session::input_matches() const { return impl_->matches; }
const BlobSource* Session::subject() const { return impl_->foreign.subject(); }
const BlobSource* Session::golden() const { return impl_->foreign.golden(); }

Result<RunReport> Session::JudgeGolden(CheckOptions check) {
  const PairedBlobs* golden = impl_->foreign.golden();
  if (golden == nullptr) return Status::InvalidArgument("the session has no golden (SessionOptions::golden)");
  check.record = &impl_->record;
  PLUMB_ASSIGN_OR_RETURN(RunReport report, JudgeForeign("golden", *impl_->graph, *golden, impl_->inputs.values,
                                                        impl_->options.arithmetic, std::move(check)));
  report.is_golden = true;
  impl_->golden_report = report;
  return report;
}

Result<RunReport> Session::JudgeSubject(CheckOptions check) {
  const PairedBlobs* subject = impl_->foreign.subject();
  if (subject == nullptr) return Status::InvalidArgument("the session has no subject (SessionOptions::subject)");
  check.golden = impl_->foreign.golden();
  check.record = &impl_->record;
  // What ggml rounds on the way to its products stands in the graph, so all else is f32's.
  std::optional<SubjectArithmetic> arithmetic = impl_->options.arithmetic;
  if (impl_->model.structure.empty() && !arithmetic) arithmetic = SubjectArithmetic::kFp32;
  const double min_tested = check.min_tested;
  const bool all = check.layers.empty();
  PLUMB_ASSIGN_OR_RETURN(RunReport report, JudgeForeign("subject", *impl_->graph, *subject, impl_->inputs.values,
                                                        arithmetic, std::move(check)));
  NameMembers(impl_->carried, &report);
  if (all) AddLeftOut(impl_->carried.left_out, impl_->graph->outputs, min_tested, &report);
  impl_->AddConversion(&report);
  return report;
}

Result<RunReport> Session::CheckDevice(const std::string& device, const NetworkOptions& options, CheckOptions check) {
  PLUMB_ASSIGN_OR_RETURN(const auto network, CreateNetwork(impl_->graph, device, options));
  return CheckNetwork(network.get(), impl_->inputs.values, std::move(check));
}

Result<RunReport> Session::CheckNetwork(Network* network, const std::map<std::string, Tensor>& inputs,
                                        CheckOptions check, std::map<std::string, Tensor>* outputs) {
  check.golden = impl_->foreign.golden();
  Checker checker(std::move(check));
  PLUMB_RETURN_IF_ERROR(checker.Attach(network, inputs));
  PLUMB_ASSIGN_OR_RETURN(auto computed, RunNetwork(network, inputs));
  PLUMB_ASSIGN_OR_RETURN(RunReport report, checker.Finish());
  impl_->AddConversion(&report);
  if (outputs != nullptr) *outputs = std::move(computed);
  return report;
}

CheckedModel Session::Describe() const {
  const Graph& graph = *impl_->graph;
  CheckedModel checked;
  checked.model = impl_->model.structure.empty() ? impl_->options.subject.path : impl_->model.structure;
  checked.num_layers = static_cast<int>(graph.layers.size());
  checked.weights = graph.weights_source.empty() ? "none needed" : "from " + graph.weights_source;
  if (graph.weights_generated) {
    checked.weights = fmt::format("generated: {}, seed {}", WeightGeneratorVersion(), impl_->options.load.seed);
  }
  checked.weights_generated = graph.weights_generated;
  checked.seed = impl_->options.load.seed;
  checked.inputs = impl_->inputs.lines;
  checked.input_ranges = ExtentsOf(impl_->inputs.values);
  checked.input_matches = impl_->matches;
  checked.tool_version = std::string("Plumb ") + Version();
  checked.notes = graph.notes;
  checked.num_threads = NumThreads();
  checked.isa = IsaName();
  return checked;
}

}  // namespace plumb
