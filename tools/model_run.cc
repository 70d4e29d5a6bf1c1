// SPDX-License-Identifier: Apache-2.0
// model_run: runs a network, writes its outputs, times it (TNNTest's options, formats and timing line).
#include <fmt/core.h>

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>

#include "common/dumping.h"
#include "common/inputs.h"
#include "common/model_options.h"
#include "common/output_options.h"
#include "common/outputs.h"
#include "common/plain_values.h"
#include "common/print.h"
#include "common/vocabulary.h"
#include "plumb/plumb.h"
#include "plumb/stage.h"
#include "plumb/tensor_file.h"
#include "plumb/tool/file.h"
#include "plumb/tool/printing.h"
#include "plumb/tool/support.h"

namespace plumb {
namespace {

constexpr const char* kExamples = R"(Examples:
  model_run -m squeezenet.tnnproto -d X86                      one Forward on generated input
  model_run -m net.tnnproto -d X86 -i image.png -o out.npz     outputs as npz (also .npy, .txt)
  model_run -m net.tnnproto -d X86 --threads 1 -wc 5 -ic 50 --profile
A timed run is: give the inputs, Forward, have the outputs.
Exit codes: 0 done, 2 bad usage or input, 3 device not available, 4 failure.)";

struct Options {
  ModelOptions model;
  RunOptions run;
  InputArguments input;
  std::string device = CpuDeviceName();
  std::string input_values;  // TNNTest's -ip: plain numbers
  std::string output, output_layout;
  bool values_only = false;
  int iterations = 1;
  int warmup = 0;
  bool profile = false;
  // TNNTest's options that choose among TNN's runtimes.
  std::string network_type = "NAIVE", cpu_list, input_type;
  std::string json;
  OutputOptions print;
};

bool IsNumpy(const std::string& path) { return EndsWith(path, ".npy") || EndsWith(path, ".npz"); }

Status CheckOutputs(const Options& o) {
  if (o.output.empty()) return Status::Ok();
  if (o.values_only && IsNumpy(o.output))
    return Status::InvalidArgument(
        fmt::format("--values-only does nothing with -o {}: it is of the text form", o.output));
  if (o.output == "-" && o.json == "-") return Status::InvalidArgument("-o and --json would both write '-'");
  if (o.output == "-") ReserveStandardOutput();
  return CheckOutputFile("-o", o.output);
}

void Declare(Options* o, CommandLine* c) {
  o->model.AddTo(c);
  c->Group("Device");
  c->Add("--device", &o->device, "NAIVE, X86, ARM, OPENCL or VULKAN");
  o->run.AddTo(c);
  o->input.AddTo(c);
  c->Add("--plain-input", &o->input_values,
         "as TNNTest: a text file of plain numbers; every input reads it from its start");
  c->Group("Run");
  c->Add("--iterations", &o->iterations, "timed runs, at least 1");
  c->Add("--warmup", &o->warmup, "runs before, not timed");
  c->Flag("--profile", &o->profile,
          "time every layer (watching it, so without overlap); with -v also the kernels that refused it, and why");
  c->Group("TNNTest's other options");
  c->Add("--cpus", &o->cpu_list, "run on these CPUs: 0,1");
  c->Add("--input-type", &o->input_type,
         "0 float, 3 int32, 4 int8: must be the network inputs' own type; 1, 2 (images): use -i");
  c->Add("--network-type", &o->network_type, "NAIVE (the default network); there is no other");
  c->Group("Output");
  c->Add("--output", &o->output,
         "write the outputs: .npy (one output), .npz, otherwise TNNTest's text form; - is standard output");
  c->OneOf("--output-layout", &o->output_layout, {"NHWC", "NCHW"},
           "order of the axes of written outputs of four dims; default: the model's");
  c->Flag("--values-only", &o->values_only, "text form: values only, no header");
  o->print.AddTo(c, "only the line of times", "also the notes of loading, on stderr");
  c->Add("--json", &o->json, "write times, inputs and outputs as JSON");
  c->OnlyWith("--values-only", {"--output"});
  c->OnlyWith("--output-layout", {"--output"});
  c->NotWith("--input", {"--plain-input"}, "the inputs are read from there");
  c->NotWith("--input-range", {"--plain-input"}, "no input is generated");
  c->Check([o] { return CheckOutputs(*o); });
}

double Milliseconds() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// -dl: the CPUs that this process may use from now on.
Status BindToCpus(const std::string& list) {
  cpu_set_t set;
  CPU_ZERO(&set);
  PLUMB_ASSIGN_OR_RETURN(const std::vector<double> cpus, ParseNumbers("-dl", list));
  for (double cpu : cpus) {
    if (cpu < 0 || cpu >= CPU_SETSIZE) return Status::InvalidArgument("-dl: there is no CPU " + std::to_string(cpu));
    CPU_SET(static_cast<size_t>(cpu), &set);
  }
  if (sched_setaffinity(0, sizeof(set), &set) == 0) return Status::Ok();
  return Status::InvalidArgument(fmt::format("-dl: cannot run on CPUs {}: {}", list, std::strerror(errno)));
}

// -it: one number for all inputs, or since TNN 0.3 "in_0:0;in_2:3;", which counts TNN's data types.
Status CheckInputType(const std::string& text, const GraphInput& input) {
  const std::map<std::string, DType> types = {{"0", DType::kF32}, {"1", DType::kF16},  {"2", DType::kI8},
                                              {"3", DType::kI32}, {"4", DType::kBF16}, {"5", DType::kI64},
                                              {"6", DType::kU32}, {"8", DType::kU8}};
  const std::string own_mat = input.dtype == DType::kI32 ? "3" : input.dtype == DType::kI8 ? "4" : "0";
  bool agrees = true;
  for (const std::string& part : SplitList(text, ';')) {
    const size_t colon = part.rfind(':');
    if (part.empty() || (colon != std::string::npos && part.substr(0, colon) != input.name)) continue;
    if (colon == std::string::npos) {
      agrees = agrees && part == own_mat;
    } else {
      const auto type = types.find(part.substr(colon + 1));
      agrees = agrees && type != types.end() && type->second == input.dtype;
    }
  }
  if (agrees) return Status::Ok();
  return Status::InvalidArgument(fmt::format("-it {}: network input '{}' is {}{}", text, input.name,
                                             DTypeName(input.dtype),
                                             text == "1" || text == "2" ? "; give the image with -i" : ""));
}

// TNNTest's options that ask for something that Plumb has not, or that only repeat what the model says.
Status CheckTnnTestOptions(const Options& o, const Graph& graph) {
  const bool is_default = o.network_type == "NAIVE" || o.network_type == "Default" || o.network_type == "default";
  if (!is_default)
    return Status::NotSupported(fmt::format("-nt {}: Plumb has the default network only", o.network_type));
  if (o.input_type.empty()) return Status::Ok();
  for (const GraphInput& input : graph.inputs) PLUMB_RETURN_IF_ERROR(CheckInputType(o.input_type, input));
  return Status::Ok();
}

// What a layer computes and reads of its own.
struct LayerWork {
  double operations = 0;
  int64_t weight_bytes = 0;
};

std::map<std::string, LayerWork> WorkOf(const Graph& graph, const BlobTable& blobs) {
  std::map<std::string, LayerWork> work;
  for (const Layer& layer : graph.layers) {
    LayerWork& own = work[layer.name];
    own.operations = CountOperations(layer, blobs);
    for (const auto& [slot, tensor] : layer.resources) own.weight_bytes += static_cast<int64_t>(tensor.bytes());
  }
  return work;
}

// Sums each step's time over the timed runs.
class Profiler : public Observer {
 public:
  explicit Profiler(std::map<std::string, LayerWork> work) : work_(std::move(work)) {}

  Status After(const LayerEvent& event) override {
    auto& entry = rows_[event.step().index];
    entry.first = &event.step();
    entry.second.push_back(event.seconds() * 1e3);
    return Status::Ok();
  }
  // `refusals`: also the kernels that were asked first, and why they refused.
  void Print(bool refusals) {
    const double total = Total();
    size_t refused = 0;
    plumb::Print("index  {:<44} {:<24} {:>9} {:>7} {:>8} {:>7}  kernel\n", "layer", "type", "median ms", "share",
                 "GFLOP/s", "GB/s");
    for (auto& [index, row] : rows_) {
      const double median = Median(&row.second);
      const auto [operations, bytes] = CountsOf(*row.first);
      plumb::Print("{:05}  {:<44} {:<24} {:9.4f} {:6.1f}% {:8.1f} {:7.1f}  {} {}\n", index, Printable(row.first->name),
                   Printable(TypesOf(*row.first)), median, 100 * median / total, operations / median / 1e6,
                   bytes / median / 1e6, row.first->kernel, row.first->detail);
      refused += row.first->refusals.size();
      for (size_t i = 0; i < row.first->refusals.size() && refusals; ++i)
        plumb::Print("       refused by {}\n", PrintableLine(row.first->refusals[i]));
    }
    plumb::Print(
        "sum of medians {:.3f} ms; GFLOP/s of the operators as they are defined; GB/s of weights, inputs and\n"
        "outputs, each once\n",
        total);
    if (refused > 0 && !refusals)
      plumb::Print("-v adds the kernels that were asked before these, and why each refused\n");
  }

  nlohmann::ordered_json Json() {
    auto json = nlohmann::ordered_json::array();
    for (auto& [index, row] : rows_) {
      const auto [operations, bytes] = CountsOf(*row.first);
      json.push_back({{"index", index},
                      {"layer", row.first->name},
                      {"type", TypesOf(*row.first)},
                      {"kernel", row.first->kernel},
                      {"detail", row.first->detail},
                      {"refused", row.first->refusals},
                      {"median_ms", Median(&row.second)},
                      {"operations", operations},
                      {"bytes", bytes}});
    }
    return json;
  }

 private:
  double Total() {
    double total = 0;
    for (auto& [index, row] : rows_) total += Median(&row.second);
    return total;
  }

  static std::string TypesOf(const StepInfo& step) {
    std::string types;
    for (const MemberInfo& member : step.members) types += (types.empty() ? "" : "+") + member.type;
    return types;
  }

  // Operations and bytes of a step.
  std::pair<double, double> CountsOf(const StepInfo& step) const {
    double operations = 0, bytes = 0;
    for (const MemberInfo& member : step.members) {
      const auto work = work_.find(member.name);
      if (work == work_.end()) continue;
      operations += work->second.operations;
      bytes += static_cast<double>(work->second.weight_bytes);
    }
    for (const auto* ports : {&step.inputs, &step.outputs}) {
      for (const PortInfo& port : *ports)
        bytes += static_cast<double>(port.shape.NumElements()) * static_cast<double>(DTypeSize(port.stored));
    }
    return {operations, bytes};
  }

  static double Median(std::vector<double>* values) {
    std::sort(values->begin(), values->end());
    return (*values)[values->size() / 2];
  }
  const std::map<std::string, LayerWork> work_;
  std::map<int, std::pair<const StepInfo*, std::vector<double>>> rows_;
};

// -ip: plain numbers; every input takes as many as it needs from the file's start.
Result<NetworkInputs> ReadPlainValues(const std::string& path, const Graph& graph, const BlobTable& blobs) {
  PLUMB_ASSIGN_OR_RETURN(const std::string text, ReadWholeFile(path));
  NetworkInputs inputs;
  for (const GraphInput& input : graph.inputs) {
    const BlobInfo& info = blobs.at(input.name);
    Result<Tensor> values = ParsePlainValues(text, info.dtype, info.shape);
    if (!values.ok()) return values.status().AddContext(fmt::format("file '{}': network input '{}'", path, input.name));
    inputs.values[input.name] = std::move(*values);
    inputs.lines.push_back(fmt::format("{} {} {}: {}", input.name, DTypeName(graph.ModelDType(input.name, info.dtype)),
                                       info.shape.ToString(), path));
  }
  return inputs;
}

// TNNTest's form: "<n>", then "<name> mat_type: <32|33> dims: <rank> <d0> ..." per output, then all values; %.6f or
// integers.
std::string TnnTestText(const std::vector<NamedTensor>& outputs, bool values_only) {
  std::string text;
  char line[64];
  if (!values_only) {
    text = std::to_string(outputs.size()) + "\n";
    for (const NamedTensor& output : outputs) {
      text += fmt::format("{} mat_type: {} dims: {}", output.name, IsFloat(output.tensor.dtype()) ? "32" : "33",
                          output.tensor.shape().rank());
      for (int64_t dim : output.tensor.shape().dims()) text += " " + std::to_string(dim);
      text += "\n";
    }
  }
  for (const NamedTensor& output : outputs) {
    for (int64_t i = 0; i < output.tensor.NumElements(); ++i) {
      std::snprintf(line, sizeof(line), IsFloat(output.tensor.dtype()) ? "%.6f\n" : "%.0f\n", output.tensor.ValueAt(i));
      text += line;
    }
  }
  return text;
}

Status WriteOutputs(const Options& o, const Network& network) {
  std::vector<std::string> names = network.graph().outputs;
  std::sort(names.begin(), names.end());  // TNNTest's order
  std::vector<NamedTensor> outputs;
  for (const std::string& name : names) {
    PLUMB_ASSIGN_OR_RETURN(const Tensor value, network.ViewOutput(name));
    PLUMB_ASSIGN_OR_RETURN(Tensor turned, InLayout(network.graph(), value, o.output_layout));
    outputs.push_back({name, std::move(turned)});
  }
  if (IsNumpy(o.output)) return WriteTensors(o.output, outputs);
  return WriteOutput(o.output, TnnTestText(outputs, o.values_only));
}

Status RunOnce(Network* network, const NetworkInputs& inputs) {
  for (const auto& [name, value] : inputs.values) PLUMB_RETURN_IF_ERROR(network->LendInput(name, value));
  PLUMB_RETURN_IF_ERROR(network->Forward());
  for (const std::string& name : network->graph().outputs) PLUMB_RETURN_IF_ERROR(network->ViewOutput(name).status());
  return Status::Ok();
}

struct Times {
  double min, max, average, median, p90;

  explicit Times(std::vector<double> times) {
    std::sort(times.begin(), times.end());
    const auto at = [&](double quantile) {
      return times[std::min(times.size() - 1, static_cast<size_t>(quantile * static_cast<double>(times.size())))];
    };
    min = times.front();
    max = times.back();
    average = std::accumulate(times.begin(), times.end(), 0.0) / static_cast<double>(times.size());
    median = at(0.5);
    p90 = at(0.9);
  }
};

void PrintTimes(const std::string& label, const Times& times) {
  const auto number = [](double value) {
    char text[32];
    std::snprintf(text, sizeof(text), "%6.3f", value);
    std::string padded = text;
    padded.resize(std::max<size_t>(8, padded.size()), ' ');
    return padded;
  };
  Print("{:<45} time cost: min = {} ms  |  max = {} ms  |  avg = {} ms  |  median = {} ms  |  p90 = {} ms\n", label,
        number(times.min), number(times.max), number(times.average), number(times.median), number(times.p90));
}

// In bytes.
struct Memory {
  int64_t weights = 0, blobs = 0;
  int64_t peak = 0;  // the most that the process had in memory, program and libraries included; 0: not known
};

// VmHWM of Linux: getrusage also counts what the process was before it became this program.
int64_t PeakBytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    int64_t kilobytes = 0;
    if (word == "VmHWM:" && status >> kilobytes) return kilobytes * 1024;
  }
  return 0;
}

void PrintMemory(const Memory& memory) {
  const auto megabytes = [](int64_t bytes) { return static_cast<double>(bytes) / 1e6; };
  Print("memory  the model's weights {:.1f} MB, blobs {:.2f} MB", megabytes(memory.weights), megabytes(memory.blobs));
  if (memory.peak > 0) Print("; the process at most {:.1f} MB", megabytes(memory.peak));
  Print("\n");
}

std::string ToJson(const Options& o, const Network& network, const NetworkInputs& inputs,
                   const std::vector<double>& milliseconds, const Memory& memory, Profiler* profiler) {
  const Times times(milliseconds);
  const Graph& graph = network.graph();
  nlohmann::ordered_json json{{"format", "plumb-model-run"}, {"version", 1}, {"plumb", Version()}};
  json["model"] = graph.source;
  json["weights"] = o.model.DescribeWeights(graph);
  json["inputs"] = inputs.lines;
  json["device"] = {{"name", network.device_name()},
                    {"description", network.device_description()},
                    {"isa", GetRuntime().isa},
                    {"threads", GetRuntime().num_threads}};
  json["outputs"] = nlohmann::ordered_json::array();
  for (const std::string& name : graph.outputs) {
    const auto value = network.ViewOutput(name);
    if (value.ok())
      json["outputs"].push_back(
          {{"name", name}, {"dtype", DTypeName(value->dtype())}, {"shape", value->shape().dims()}});
  }
  json["iterations"] = o.iterations;
  json["warmup"] = o.warmup;
  json["milliseconds"] = {{"min", times.min},       {"max", times.max}, {"average", times.average},
                          {"median", times.median}, {"p90", times.p90}, {"all", milliseconds}};
  if (profiler != nullptr) json["steps"] = profiler->Json();
  json["memory"] = {{"weight_bytes", memory.weights}, {"blob_bytes", memory.blobs}, {"peak_bytes", memory.peak}};
  return json.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

void PrintHead(const Options& o, const Network& network, const NetworkInputs& inputs, double prepared) {
  Print("model   {}, weights {}\n", network.graph().source, o.model.DescribeWeights(network.graph()));
  for (const std::string& line : inputs.lines) Print("input   {}\n", PrintableLine(line));
  for (const std::string& line : o.model.constants.Lines()) Print("input   {}\n", PrintableLine(line));
  Print("device  {}: {}, ISA {}, {} threads; prepared in {:.1f} ms, blobs take {:.2f} MB ({:.2f} MB without reuse)\n",
        o.device, network.device_description(), GetRuntime().isa, GetRuntime().num_threads, prepared,
        static_cast<double>(network.arena_bytes()) / 1e6, static_cast<double>(network.unplanned_bytes()) / 1e6);
}

Status Execute(const Options& o, const NetworkOptions& options) {
  if (o.iterations < 1)
    return Status::InvalidArgument("--ic: expected 1 or more, found " + std::to_string(o.iterations));
  if (o.warmup < 0) return Status::InvalidArgument("--wc: expected 0 or more, found " + std::to_string(o.warmup));
  if (!o.cpu_list.empty()) PLUMB_RETURN_IF_ERROR(BindToCpus(o.cpu_list));
  PLUMB_ASSIGN_OR_RETURN(auto graph, o.model.Load(ShapesOfFiles(o.input.files)));
  PrintNotes(o.print, graph->notes);
  PLUMB_RETURN_IF_ERROR(CheckTnnTestOptions(o, *graph));
  PLUMB_ASSIGN_OR_RETURN(const BlobTable blobs, InferShapes(*graph));
  NetworkInputs inputs;
  if (o.input_values.empty()) {
    PLUMB_ASSIGN_OR_RETURN(const InputOptions input, o.input.Read(o.model.seed));
    PLUMB_ASSIGN_OR_RETURN(inputs, PrepareInputs(input, *graph, blobs));
  } else {
    PLUMB_ASSIGN_OR_RETURN(inputs, ReadPlainValues(o.input_values, *graph, blobs));
  }
  Memory memory;
  const std::map<std::string, LayerWork> work = WorkOf(*graph, blobs);
  for (const auto& [layer, own] : work) memory.weights += own.weight_bytes;
  Profiler profiler(work);
  const double start = Milliseconds();
  NetworkOptions own = OptionsFor(options, o.run, o.device);
  own.release_weights = true;
  PLUMB_ASSIGN_OR_RETURN(const auto device, OpenDevice(o.device, own.device_index));
  DumpLog dump_log;
  PLUMB_ASSIGN_OR_RETURN(const auto network, dump_log.CreateNetwork(std::move(graph), device, own, false));
  NotePrecision(options, *network);
  const double prepared = Milliseconds() - start;
  if (!o.print.quiet) PrintHead(o, *network, inputs, prepared);
  Progress progress("run", o.warmup + o.iterations, o.print.quiet);
  for (int i = 0; i < o.warmup; ++i) {
    PLUMB_RETURN_IF_ERROR(RunOnce(network.get(), inputs));
    progress.Step(i, "warm-up");
  }
  if (o.profile) network->AddObserver(&profiler);
  std::vector<double> times;
  for (int i = 0; i < o.iterations; ++i) {
    const double begin = Milliseconds();
    PLUMB_RETURN_IF_ERROR(RunOnce(network.get(), inputs));
    times.push_back(Milliseconds() - begin);
    progress.Step(o.warmup + i, "");
  }
  const std::string& source = network->graph().source;
  PrintTimes(fmt::format("{} - {}", source.substr(source.find_last_of('/') + 1), o.device), Times(times));
  if (o.profile) profiler.Print(o.print.verbose);
  memory.blobs = static_cast<int64_t>(network->arena_bytes()), memory.peak = PeakBytes();
  if (!o.print.quiet) PrintMemory(memory);
  PrintText(dump_log.Lines());
  if (!o.output.empty()) PLUMB_RETURN_IF_ERROR(WriteOutputs(o, *network));
  PLUMB_RETURN_IF_ERROR(WriteOutputStages(*network));
  if (network->graph().weights_generated)
    Print("with generated weights: the outputs are not those of the trained network\n");
  return o.json.empty()
             ? Status::Ok()
             : WriteOutput(o.json, ToJson(o, *network, inputs, times, memory, o.profile ? &profiler : nullptr));
}

int Main(int argc, char** argv) {
  Options options;
  CommandLine command_line("model_run", "Runs a network on one device, writes its outputs and times it.", kExamples);
  Declare(&options, &command_line);
  command_line.Brief({{"--model", "x.onnx, x.tflite, or x.tnnproto with its x.tnnmodel"},
                      {"--device", "X86, which is the default, NAIVE, ARM, OPENCL or VULKAN"},
                      {"--input", "x.npy, image.png, NAME=FILE; else inputs are generated"},
                      {"--shape", "NAME=1,3,224,224, where the model leaves it open"},
                      {"--output", "out.npz, out.npy or out.txt: write the outputs"},
                      {"--iterations", "timed runs; --warmup: before them"},
                      {"--profile", "time every layer"},
                      {"--threads", "0, which is the default: all CPUs"},
                      {"--quiet", "only the line of times"},
                      {"--json", "write times, inputs and outputs as JSON"}});
  if (const auto done = command_line.Parse(argc, argv)) return *done;
  const auto devices = ParseDevices(options.device);
  if (!devices.ok()) return Fail(devices.status());
  if (devices->size() != 1)
    return Fail(Status::InvalidArgument(fmt::format("-d: model_run takes one device, found '{}'", options.device)));
  options.device = devices->front();
  const Status index = CheckDeviceIndex(options.run, *devices);
  if (!index.ok()) return Fail(index);
  const auto network_options = options.run.Apply();  // before a device settles which instructions it may use
  if (!network_options.ok()) return Fail(network_options.status());
  const auto opened = OpenDevice(options.device, OptionsFor({}, options.run, options.device).device_index);
  if (!opened.ok()) return FailOnDevice(opened.status());
  const Status status = Execute(options, *network_options);
  return status.ok() ? kExitOk : Fail(status);
}

}  // namespace
}  // namespace plumb

int main(int argc, char** argv) { return plumb::RunTool(plumb::Main, argc, argv); }
