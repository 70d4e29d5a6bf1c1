// SPDX-License-Identifier: Apache-2.0
// model_bisect: which flag, variable, option or version brings a wrong verdict.
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "common/inputs.h"
#include "common/model_options.h"
#include "common/output_options.h"
#include "common/outputs.h"
#include "common/print.h"
#include "model_bisect/wheels.h"
#include "plumb/plumb.h"
#include "plumb/tool/bisect.h"

namespace plumb {
namespace {

constexpr const char* kExamples =
    R"(Runs with none and with all of the alternatives; where the verdicts differ, halves what differs.
Examples:
  model_bisect -m net.onnx --run './dump {flag} {model} {dump}' --flags GeluFusion MatMulAddFusion
  model_bisect -m net.onnx --run './dump {model} {dump}' --env OMP_NUM_THREADS=1 ORT_NO_WINOGRAD=1
  model_bisect -m net.onnx --run '{python} dump.py {model} {inputs} {dump}' \
    --wheels onnxruntime==1.17.0..1.20.1 --with numpy onnx
  model_bisect -m net.onnx -d X86                            our own: algorithms, threads, ISA, fusion
  model_bisect -m net.onnx -d X86 --flags '--kernel conv1=convolution_blocked' '--threads 1'
--run is given {flag}, the flags that are on; {model}; {dump}, an empty folder for every tensor that
it computes (doc/subjects.md); {inputs}, an .npz with the network inputs; and {python}, that of the
environment of --wheels, which is the first python3 in PATH, too.
Exit codes: 0 found, 1 nothing brings it, 2 bad usage or input, 3 device not available, 4 failure.)";

struct Options {
  ModelOptions model;
  InputArguments input;
  DumpWords words;
  WheelOptions wheels;
  std::string device, command, json;
  std::vector<std::string> flags, variables, layers;
  bool each = false;
  OutputOptions print;
};

void Declare(Options* o, CommandLine* c) {
  o->model.AddTo(c);
  c->Group("What is wrong");
  c->Add("--run", &o->command, "a command that dumps what it computes: with {flag}, {model}, {dump} and {inputs}");
  c->Add("--device", &o->device, "X86, ARM, OPENCL or VULKAN: one device, checked by model_check with each flag");
  c->NotWith("--run", {"--device"}, "a command or a device is tried");
  o->words.AddTo(c);
  for (const char* of_dumps : {"--names", "--layout", "--arithmetic"}) c->OnlyWith(of_dumps, {"--run"});
  c->Add("--layers", &o->layers, "only the verdict of the step that holds this layer counts; may repeat");
  c->Group("What may bring it");
  c->Add("--flags", &o->flags,
         "flags that replace {flag}, or options of model_check; one that begins with - in quotes");
  c->Add("--env", &o->variables, "NAME=VALUE: variables of the command's environment");
  c->Flag("--each", &o->each, "also run each of them alone, to know which have no effect at all");
  o->wheels.AddTo(c);
  o->input.AddTo(c);
  c->Group("Output");
  c->Add("--json", &o->json, "write a JSON line for each run and each alternative");
  o->print.AddTo(c, "only the last lines", "");
  c->Brief({{"--model", "x.onnx, x.tflite, or x.tnnproto with its x.tnnmodel"},
            {"--run", "a command that dumps what another runtime computes"},
            {"--device", "X86, ARM, OPENCL or VULKAN: model_check is the command"},
            {"--flags", "flags that replace {flag}, or options of model_check"},
            {"--env", "NAME=VALUE: variables of the command's environment"},
            {"--wheels", "PACKAGE==OLDEST..NEWEST: which version brings it"},
            {"--with", "what else the environment of such a version needs"},
            {"--input", "x.npy, image.png, NAME=FILE; else inputs are generated"},
            {"--layers", "only the verdict of the step that holds this layer counts"},
            {"--each", "also run each of them alone"},
            {"--quiet", "only the last lines"},
            {"--json", "write a JSON line for each run and each alternative"}});
}

// model_check of this build on the device, with what is common to all runs.
std::string CheckCommand(const Options& o, const CommandLine& command_line) {
  std::error_code error;
  const std::filesystem::path own = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  std::string words = command_line.Again({"--run", "--flags", "--env", "--each", "--json", "--quiet", "--color"});
  words.erase(0, words.find(' '));  // this program
  return fmt::format("DUMP_OUTPUT_BLOB=1 DUMP_BLOB_FORMAT=raw DUMP_BLOB_DIR={{dump}} {}{} -q {{flag}}",
                     ShellQuoted((own / "model_check").string()), words);
}

// What changes how a device of ours computes, where nobody names anything.
void AddOwnAlternatives(Options* o) {
  if (o->device.empty() || !o->flags.empty() || !o->variables.empty()) return;
  o->flags = {"--algorithms direct", "--threads 1"};
  if (o->device == "X86") o->flags.emplace_back("--max-isa SSE41");
  o->variables = {"DUMP_BLOB_UNFUSE=1"};
}

Status CheckAsked(Options* o) {
  if (o->command.empty() == o->device.empty())
    return Status::InvalidArgument("name a command with --run, or a device with -d");
  for (const std::string& one : o->variables) {
    constexpr const char* kNameCharacters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";
    const size_t equals = one.find('=');
    if (equals == std::string::npos || equals == 0 || one.find_first_not_of(kNameCharacters) != equals)
      return Status::InvalidArgument(fmt::format("--env: expected NAME=VALUE, found '{}'", one));
  }
  if (!o->device.empty()) {
    PLUMB_ASSIGN_OR_RETURN(const std::vector<std::string> devices, ParseDevices(o->device));
    if (devices.size() != 1)
      return Status::InvalidArgument(fmt::format("-d: expected one device, found {}: '{}'", devices.size(), o->device));
    o->device = devices[0];
    AddOwnAlternatives(o);
    return Status::Ok();
  }
  for (const char* mark : {"{python}", "{environment}"}) {
    if (o->wheels.range.empty() && o->command.find(mark) != std::string::npos)
      return Status::InvalidArgument(
          fmt::format("--run '{}': {} is of --wheels, which is not given", o->command, mark));
  }
  for (const char* mark : {"{model}", "{dump}"}) {
    if (o->command.find(mark) == std::string::npos)
      return Status::InvalidArgument(fmt::format("--run '{}' lacks {}", o->command, mark));
  }
  if (!o->flags.empty() && o->command.find("{flag}") == std::string::npos)
    return Status::InvalidArgument(fmt::format("--run '{}' lacks {{flag}}, and --flags are given", o->command));
  return Status::Ok();
}

// This call with what was found alone.
std::string AgainWith(const BisectReport& report, const Options& o, const CommandLine& command_line) {
  if (!report.found()) return "";
  std::string text = command_line.Again({"--flags", "--env", "--each", "--json", "--quiet", "--color"});
  for (const std::string& one : report.together[0]) {
    const bool variable = std::find(o.variables.begin(), o.variables.end(), one) != o.variables.end();
    text += (variable ? " --env=" : " --flags=") + ShellQuoted(one);
  }
  return text;
}

int Show(const Options& options, bool found, const std::string& text, const std::string& lines) {
  PrintText(options.print.quiet ? text.substr(text.find("\n\n") + 2) : text);
  if (!options.json.empty()) {
    const Status written = WriteOutput(options.json, lines);
    if (!written.ok()) return Fail(written);
  }
  return found ? kExitOk : kExitMisaligned;
}

int ShowVersions(const Options& options, const CommandLine& command_line, SessionOptions session) {
  const auto range = ParseWheelRange(options.wheels.range);
  if (!range.ok()) return Fail(range.status().AddContext("--wheels"));
  BisectRunner runner(options.model.Files(), std::move(session), InEnvironment(options.command));
  runner.JudgeOnly(options.layers);
  const Status can = runner.Check();
  if (!can.ok()) return Fail(can);
  auto report = RunVersions(options.wheels, *range, options.print.quiet, &runner);
  if (!report.ok()) return Fail(report.status());
  if (report->found())
    report->again = command_line.Again({"--wheels", "--json", "--quiet", "--color"}) +
                    fmt::format(" --wheels={}=={}..{}", range->package, report->before, report->with);
  return Show(options, report->found(), FormatVersionText(*report, range->package, static_cast<size_t>(OutputWidth())),
              FormatVersionLines(*report, range->package));
}

int Main(int argc, char** argv) {
  Options options;
  CommandLine command_line("model_bisect", "Which flag, variable, option or version brings a wrong verdict.",
                           kExamples);
  Declare(&options, &command_line);
  if (const auto done = command_line.Parse(argc, argv)) return *done;
  const Status asked = CheckAsked(&options);
  if (!asked.ok()) return Fail(asked);
  if (!options.device.empty()) {
    const auto opened = OpenDevice(options.device);
    if (!opened.ok()) return FailOnDevice(opened.status());
  }
  auto session = ReadSession(options.model, options.input, options.words);
  if (!session.ok()) return Fail(session.status());
  if (!options.wheels.range.empty()) return ShowVersions(options, command_line, *std::move(session));
  const std::string command = options.device.empty() ? options.command : CheckCommand(options, command_line);
  BisectRunner runner(options.model.Files(), *std::move(session), command);
  for (const std::string& one : options.variables) runner.AddVariable(one);
  runner.JudgeOnly(options.layers);
  BisectOptions bisect;
  bisect.alternatives = options.flags;
  bisect.alternatives.insert(bisect.alternatives.end(), options.variables.begin(), options.variables.end());
  bisect.each = options.each;
  bisect.run = [&](const std::vector<std::string>& on) { return runner.Run(on); };
  int runs = 0;
  Progress progress("bisect", static_cast<int64_t>(bisect.alternatives.size()) + 2, options.print.quiet);
  bisect.done = [&](const BisectRun& run) { progress.Step(++runs, run.verdict); };
  auto report = Bisect(bisect);
  progress.Clear();
  if (!report.ok()) return Fail(report.status());
  report->again = AgainWith(*report, options, command_line);
  return Show(options, report->found(), FormatBisectText(*report, static_cast<size_t>(OutputWidth())),
              FormatBisectLines(*report));
}

}  // namespace
}  // namespace plumb

int main(int argc, char** argv) { return plumb::RunTool(plumb::Main, argc, argv); }
