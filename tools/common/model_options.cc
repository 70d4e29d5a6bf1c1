// SPDX-License-Identifier: Apache-2.0
#include "common/model_options.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "common/compile_progress.h"
#include "common/option_words.h"
#include "common/print.h"
#include "common/vocabulary.h"
#include "plumb/plumb.h"
#include "plumb/tool/printing.h"
#include "plumb/tool/step_case.h"

namespace plumb {
namespace {

std::string Upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), ::toupper);
  return text;
}

Result<Precision> ParsePrecision(const std::string& text) {
  const std::string upper = Upper(text);
  if (upper == "HIGH" || upper == "AUTO") return Precision::kHigh;
  if (upper == "NORMAL") return Precision::kNormal;
  if (upper == "LOW") return Precision::kLow;
  return Status::InvalidArgument(UnknownWord("--precision", text, {"HIGH", "NORMAL", "LOW", "AUTO"}));
}

// A tnnmodel alone stands for the tnnproto beside it, too.
Status FindProto(std::string* structure, std::string* weights) {
  if (weights->empty()) weights->swap(*structure);
  *structure = weights->substr(0, weights->size() - std::string("model").size()) + "proto";
  if (PathExists(*structure)) return Status::Ok();
  return Status::InvalidArgument(
      fmt::format("'{}' holds weights only, and there is no '{}': name the tnnproto with -p", *weights, *structure));
}

// TNN's -mt says nothing that the suffix does not.
Status CheckType(const std::string& type, const std::string& structure) {
  if (type.empty()) return Status::Ok();
  std::vector<std::string> known;
  for (const ModelFormat& row : ModelFormats()) known.emplace_back(row.type);
  if (std::find(known.begin(), known.end(), type) == known.end()) {
    return Status::NotSupported(fmt::format("--model-type {}: Plumb reads {}; convert it first{}", type,
                                            ModelSuffixes(), DidYouMean(type, known)));
  }
  const ModelFormat* format = FindModelFormat(structure);
  if (format == nullptr || type == format->type) return Status::Ok();
  return Status::InvalidArgument(fmt::format("--model-type {}: '{}' is none by its suffix", type, structure));
}

bool HasAdapters(const std::string& device) { return device == "OPENCL" || device == "VULKAN"; }

// Once in a process: model_check may load a model twice.
void Say(const std::string& what, const std::string& text) {
  static std::set<std::string> said;
  if (said.insert(text).second) PrintErrorText(what + ": " + PrintableMessage(InOptionWords(text)) + "\n");
}

// These notes are said without -v: they change what everything that follows is about.
void SayChosenShapes(const Graph& graph) {
  for (const std::string& note : graph.notes) {
    for (const char* begin : {"open batch: ", "open dims: ", "signatures: "}) {
      if (note.rfind(begin, 0) == 0) Say("note", note);
    }
  }
}

}  // namespace

void ModelOptions::AddTo(CommandLine* c) {
  c->Group("Model");
  c->Positional("MODEL", &first, "the model, as -m", false);
  c->Positional("TNNMODEL", &second, "its weights, where they are not beside it", false);
  c->Add(
      "--model", &model,
      "x.tnnproto (takes x.tnnmodel beside it, else generates weights), x.onnx or x.tflite, or with -p the x.tnnmodel; "
      "the folder of a case that model_reduce wrote");
  c->Add("--proto", &proto, "x.tnnproto; -m then names the tnnmodel");
  c->Add("--model-type", &type, "TNN, ONNX or TFLITE: what the model's suffix says anyway");
  c->Add("--shape", &shapes,
         "NAME=1,3,224,224: prepare the network for this input shape; ask: refuse a model whose file leaves "
         "dims open, for which usual ones that run are taken otherwise");
  constants.AddTo(c);
  c->Add("--signature", &signature, "NAME: of a .tflite with several, whose subgraph is the network");
  c->Add("--seed", &seed, "of generated weights and inputs");
  c->Flag("--random-weights", &random_weights, "generate weights even when there is a tnnmodel");
  c->Check([this] { return not_needed != nullptr && *not_needed ? Status::Ok() : Resolve(); });
}

Status ModelOptions::CheckShow(const std::string& show) const {
  PLUMB_RETURN_IF_ERROR(CheckShown(show));
  const std::string structure = Files().structure;
  const ModelFormat* format = show.empty() || structure.empty() ? nullptr : FindModelFormat(structure);
  if (format == nullptr || std::string(format->type) == "ONNX") return Status::Ok();
  return Status::InvalidArgument(fmt::format(
      "--show {}: '{}' is no .onnx, and of others no case is written that another runtime reads", show, structure));
}

// -m, -p and the places name one model and at most one tnnmodel.
Status ModelOptions::Resolve() {
  std::string structure = proto, weights;
  const auto take = [](std::string* slot, const std::string& path, const char* what) {
    if (slot->empty() || path.empty()) return *slot += path, Status::Ok();
    return Status::InvalidArgument(fmt::format("{} is named twice: '{}' and '{}'", what, *slot, path));
  };
  for (const std::string& place : {first, second}) {
    const bool is_weights = EndsWith(place, ".tnnmodel");
    PLUMB_RETURN_IF_ERROR(take(is_weights ? &weights : &structure, place, is_weights ? "the tnnmodel" : "the model"));
  }
  const bool model_is_weights = !proto.empty() || (!structure.empty() && EndsWith(model, ".tnnmodel"));
  PLUMB_RETURN_IF_ERROR(
      take(model_is_weights ? &weights : &structure, model, model_is_weights ? "the tnnmodel" : "the model"));
  if (structure.empty() && weights.empty() && instead != nullptr && !instead->empty()) return Status::Ok();
  if (structure.empty() && weights.empty()) return Status::InvalidArgument("which model? give it with -m x.tnnproto");
  if (PathExists(structure + "/case.tnnproto")) {
    case_folder = structure;
    structure += "/case.tnnproto";
  }
  const bool weights_alone = structure.empty() || (weights.empty() && EndsWith(structure, ".tnnmodel"));
  if (weights_alone) PLUMB_RETURN_IF_ERROR(FindProto(&structure, &weights));
  proto = weights.empty() ? "" : structure;
  model = weights.empty() ? structure : weights;
  return CheckType(type, structure);
}

ModelFiles ModelOptions::Files() const { return {proto.empty() ? model : proto, proto.empty() ? "" : model}; }

Result<LoadOptions> ModelOptions::Read() const {
  LoadOptions load;
  load.seed = seed;
  load.random_weights = random_weights;
  load.keep_half = keep_half;
  load.signature = signature;
  load.keep_quantized = keep_quantized;
  load.skip_weights = skip_weights;
  load.evaluator = ReferenceEvaluator();
  std::vector<std::string> given = shapes;
  const auto ask = std::remove(given.begin(), given.end(), "ask");
  load.open_dims = ask == given.end() ? OpenDims::kUsual : OpenDims::kRefuse;
  given.erase(ask, given.end());
  PLUMB_ASSIGN_OR_RETURN(load.input_shapes, ParseShapes(given));
  PLUMB_ASSIGN_OR_RETURN(load.input_values, constants.Read());
  return load;
}

void ModelOptions::SayWhatWasLoaded(const Graph& graph) const {
  SayChosenShapes(graph);
  if (!graph.weights_generated) return;
  const std::string files =
      random_weights ? "--random-weights" : fmt::format("there is no tnnmodel beside '{}'", graph.source);
  Say("warning", fmt::format("the weights are generated ({}; {}, seed {}): nothing here is about the trained network",
                             files, WeightGeneratorVersion(), seed));
}

Result<std::shared_ptr<const Graph>> ModelOptions::Load(const std::map<std::string, Shape>& open_shapes,
                                                        std::optional<OpenDims> open_dims) const {
  PLUMB_ASSIGN_OR_RETURN(LoadOptions load, Read());
  load.open_shapes = open_shapes;
  if (open_dims) load.open_dims = *open_dims;
  PLUMB_ASSIGN_OR_RETURN(Graph graph, LoadModel(Files(), load));
  for (std::string& note : graph.notes) note = InOptionWords(std::move(note));
  if (open_dims != OpenDims::kSmallest) SayWhatWasLoaded(graph);  // that is the second of two loads
  return std::make_shared<const Graph>(std::move(graph));
}

std::string ModelOptions::DescribeWeights(const Graph& graph) const {
  if (graph.weights_generated) return fmt::format("generated: {}, seed {}", WeightGeneratorVersion(), seed);
  return graph.weights_source.empty() ? "none needed" : "from " + graph.weights_source;
}

namespace {

Result<std::map<std::string, std::string>> ParseKernels(const std::vector<std::string>& texts) {
  std::map<std::string, std::string> kernels;
  for (const std::string& text : texts) {
    const size_t equals = text.rfind('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
      return Status::InvalidArgument(fmt::format("--kernel: expected LAYER=KERNEL, found '{}'", text));
    const std::string layer = text.substr(0, equals), kernel = text.substr(equals + 1);
    // Reports show x86/convolution_blocked.
    if (!kernels.emplace(layer, kernel.substr(kernel.rfind('/') + 1)).second)
      return Status::InvalidArgument(fmt::format("--kernel: layer '{}' is given twice", layer));
  }
  return kernels;
}

}  // namespace

void RunOptions::AddTo(CommandLine* c) {
  c->Add("--threads", &threads, "threads, 0: all CPUs");
  c->Add("--max-isa", &max_isa, "hold X86 to SSE41, AVX2 or AVX512 (also PLUMB_MAX_CPU_ISA)");
  c->Add("--precision", &precision, "HIGH (f32), NORMAL (f16 storage), LOW (f16 where the device computes it) or AUTO");
  c->Add("--device-index", &device_index, "which OPENCL or VULKAN adapter, counted as device_info lists them");
  c->Flag("--fallback", &fallback, "let NAIVE run layers that a device lacks");
  c->Add("--algorithms", &algorithms,
         "fast (the default: convolutions by Winograd's algorithm where that is quicker) or direct (sums as they are "
         "defined, for the tightest comparison)");
  c->Add("--kernel", &kernels, "LAYER=KERNEL: who computes that layer, by the names that model_run --profile shows");
}

Result<NetworkOptions> RunOptions::Apply() const {
  NetworkOptions options;
  PLUMB_RETURN_IF_ERROR(SetRuntime({threads, max_isa}));
  if (device_index < 0)
    return Status::InvalidArgument("--device-index: expected 0 or more, found " + std::to_string(device_index));
  PLUMB_ASSIGN_OR_RETURN(options.precision, ParsePrecision(precision));
  options.num_threads = threads;
  options.fallback = fallback;
  options.direct = algorithms == "direct";
  if (!options.direct && algorithms != "fast")
    return Status::InvalidArgument(UnknownWord("--algorithms", algorithms, {"fast", "direct"}));
  PLUMB_ASSIGN_OR_RETURN(options.kernels, ParseKernels(kernels));
  ShowCompiling();
  return options;
}

Result<std::vector<AskedDevice>> AskForDevices(const std::string& text) {
  std::vector<std::string> words = SplitList(text);
  std::transform(words.begin(), words.end(), words.begin(), Upper);
  auto asked = AskDevices(words);
  if (!asked.ok()) return asked.status().AddContext("-d");
  return asked;
}

void DumpWords::AddTo(CommandLine* c) {
  c->Add("--names", &names, "CSV of two columns: name in the model, name in the subject or golden");
  c->Add("--layout", &layout, "NCHW or NHWC: of the whole subject or golden; default: found by the shapes");
  c->Add("--arithmetic", &arithmetic,
         "of the whole subject: fp32, fp32+winograd, tf32, fp16, bf16, fp16+f32-chains, bf16+f32-chains, "
         "fp32+f16-storage, fp32+bf16-storage, fp32+f16-products, fp32+bf16-products, "
         "fp32+narrow-products or int8; default: found");
}

Status DumpWords::Read(SessionOptions* session) const {
  session->pairing.layout = layout;
  if (!arithmetic.empty()) {
    PLUMB_ASSIGN_OR_RETURN(session->arithmetic, ParseArithmetic(arithmetic));
  }
  if (!names.empty()) {
    PLUMB_ASSIGN_OR_RETURN(session->pairing.names, ReadNames(names));
  }
  return Status::Ok();
}

Result<SessionOptions> ReadSession(const ModelOptions& model, const InputArguments& input, const DumpWords& words) {
  SessionOptions session;
  PLUMB_ASSIGN_OR_RETURN(session.load, model.Read());
  PLUMB_ASSIGN_OR_RETURN(session.inputs, input.Read(model.seed));
  PLUMB_RETURN_IF_ERROR(words.Read(&session));
  return session;
}

Result<std::vector<std::string>> ParseDevices(const std::string& text) {
  PLUMB_ASSIGN_OR_RETURN(const std::vector<AskedDevice> asked, AskForDevices(text));
  std::vector<std::string> names;
  for (const AskedDevice& device : asked) names.push_back(device.device);
  return names;
}

NetworkOptions OptionsFor(const NetworkOptions& options, const RunOptions& run, const std::string& device) {
  NetworkOptions own = options;
  own.device_index = HasAdapters(device) ? run.device_index : 0;
  return own;
}

Status CheckDeviceIndex(const RunOptions& run, const std::vector<std::string>& devices) {
  if (run.device_index == 0 || std::any_of(devices.begin(), devices.end(), HasAdapters)) return Status::Ok();
  return Status::InvalidArgument(fmt::format(
      "--device-index {}: only OPENCL and VULKAN count their adapters, and -d names neither", run.device_index));
}

void NotePrecision(const NetworkOptions& asked, const Network& network) {
  if (network.options().precision == asked.precision) return;
  PrintError("note: {} does not have the precision asked for and runs {}\n", network.device_name(),
             network.options().precision == Precision::kHigh ? "HIGH (f32)" : "NORMAL (f16 storage)");
}

int FailOnDevice(const Status& status) {
  Fail(status);
  return ExitCodeOfDevice(status);
}

}  // namespace plumb
