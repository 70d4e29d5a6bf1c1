// SPDX-License-Identifier: Apache-2.0
// model_reduce: from a wrong check to the smallest model that still shows it, as files to hand over.
#include <fmt/core.h>

#include <algorithm>
#include <memory>

#include "common/inputs.h"
#include "common/model_options.h"
#include "common/output_options.h"
#include "common/outputs.h"
#include "common/print.h"
#include "plumb/plumb.h"
#include "plumb/tool/reduce.h"

namespace plumb {
namespace {

constexpr const char* kExamples =
    R"(Each wrong step is tried alone on what it read, then with neighbours, then with smaller sizes.
Examples:
  model_reduce -m net.onnx -d X86 -o cases                   what is wrong on a device of ours
  model_reduce -m net.onnx -o cases --run 'python3 dump.py {model} {inputs} {dump}'
                                                             what another runtime computes wrongly
  model_reduce -m net.onnx -o cases --run 'plumb-golden mnn {model} --input {inputs} -o {dump}'
  model_check cases/case-1 -d X86                            judges a case again, here or elsewhere
  sh cases/case-1/show.sh                                    shows it where it was found
--run is given {model}, the candidate; {dump}, an empty folder for every tensor that it computes
(doc/subjects.md); and {inputs}, an .npz with the network inputs.
Exit codes: 0 found and reduced, 1 nothing is wrong or no part of the model shows it, 2 bad usage or
input, 3 device not available, 4 failure.)";

struct Options {
  ModelOptions model;
  RunOptions run;
  InputArguments input;
  DumpWords words;
  std::string device, command, output, json, show;
  int max_cases = 3;
  double seconds = 60;
  OutputOptions print;
};

void Declare(Options* o, CommandLine* c) {
  o->model.AddTo(c);
  c->Group("What is wrong");
  c->Add("--device", &o->device, "X86, ARM, OPENCL or VULKAN: one device");
  c->Add("--run", &o->command, "a command that dumps what it computes: with {model}, {dump} and {inputs}");
  o->words.AddTo(c);
  for (const char* of_dumps : {"--names", "--layout", "--arithmetic"}) c->OnlyWith(of_dumps, {"--run"});
  c->NotWith("--run", {"--device"}, "a command or a device is reduced for");
  o->run.AddTo(c);
  for (const char* of_device : {"--precision", "--fallback", "--device-index", "--algorithms", "--kernel"})
    c->OnlyWith(of_device, {"--device"});
  o->input.AddTo(c);
  c->Group("Cases");
  c->Add("--output", &o->output, "DIR: a folder case-1, case-2 ... in it for each wrong step");
  c->Required("--output");
  c->Add("--max-cases", &o->max_cases, "wrong steps to reduce; of other operators or causes first");
  c->Add("--seconds", &o->seconds, "for each of them");
  c->Add("--show", &o->show,
         "the runtime that show.py of an .onnx case judges: onnxruntime, openvino, mnn, ncnn, torch, tract or opencv; "
         "default: that of plumb-golden in --run, else onnxruntime");
  c->Add("--json", &o->json, "write a JSON line for each try and each case");
  o->print.AddTo(c, "only the last line", "");
  c->Brief({{"--model", "x.onnx, x.tflite, or x.tnnproto with its x.tnnmodel"},
            {"--run", "a command that dumps what another runtime computes"},
            {"--device", "X86, ARM, OPENCL or VULKAN: one device"},
            {"--output", "DIR: a folder case-1, case-2 ... in it for each wrong step"},
            {"--input", "x.npy, image.png, NAME=FILE; else inputs are generated"},
            {"--max-cases", "wrong steps to reduce"},
            {"--seconds", "for each of them"},
            {"--quiet", "only the last line"},
            {"--json", "write a JSON line for each try and each case"}});
}

Result<ReduceOptions> ReadReduce(Options* o) {
  ReduceOptions reduce;
  PLUMB_ASSIGN_OR_RETURN(reduce.network, o->run.Apply());
  reduce.network.device_index = o->run.device_index;
  if (!o->device.empty()) {
    PLUMB_ASSIGN_OR_RETURN(const std::vector<std::string> devices, ParseDevices(o->device));
    PLUMB_RETURN_IF_ERROR(CheckDeviceIndex(o->run, devices));
    if (devices.size() != 1)
      return Status::InvalidArgument(fmt::format("-d: expected one device, found {}: '{}'", devices.size(), o->device));
    o->device = devices[0];
  }
  reduce.device = o->device;
  reduce.command = o->command;
  reduce.folder = o->output;
  reduce.show = o->show;
  PLUMB_RETURN_IF_ERROR(o->model.CheckShow(o->show));
  reduce.max_cases = o->max_cases;
  reduce.seconds = o->seconds;
  if (!o->run.max_isa.empty()) reduce.reproduce = "--max-isa " + ShellQuoted(o->run.max_isa);
  if (!o->words.names.empty())
    reduce.reproduce += (reduce.reproduce.empty() ? "" : " ") + ("--names " + ShellQuoted(o->words.names));
  PLUMB_RETURN_IF_ERROR(CheckOutputFolder("-o", o->output));
  return reduce;
}

std::string LastLineOf(const std::string& text) {
  const size_t end = text.size() < 2 ? std::string::npos : text.rfind('\n', text.size() - 2);
  return end == std::string::npos ? text : text.substr(end + 1);
}

int Main(int argc, char** argv) {
  Options options;
  CommandLine command_line("model_reduce", "From a wrong check to the smallest model that still shows it.", kExamples);
  Declare(&options, &command_line);
  if (const auto done = command_line.Parse(argc, argv)) return *done;
  const auto session = ReadSession(options.model, options.input, options.words);
  if (!session.ok()) return Fail(session.status());
  auto reduce = ReadReduce(&options);
  if (!reduce.ok()) return Fail(reduce.status());
  if (!options.device.empty()) {
    const auto opened = OpenDevice(options.device, options.run.device_index);
    if (!opened.ok()) return FailOnDevice(opened.status());
  }
  std::unique_ptr<Progress> progress;
  std::string shown;
  double seconds = 0;
  reduce->tried = [&](const std::string& layer, const ReduceTry& done) {
    if (layer != shown) {
      progress =
          std::make_unique<Progress>("reduce " + layer, static_cast<int64_t>(options.seconds + 1), options.print.quiet);
      shown = layer;
      seconds = 0;
    }
    seconds += done.seconds;
    progress->Step(static_cast<int64_t>(seconds), done.what);
  };
  const auto report = Reduce(options.model.Files(), *session, *reduce);
  progress.reset();
  if (!report.ok()) return Fail(report.status());
  const std::string text = FormatReduceText(*report, static_cast<size_t>(OutputWidth()));
  PrintText(options.print.quiet ? LastLineOf(text) : text);
  if (!options.json.empty()) {
    const Status written = WriteOutput(options.json, FormatReduceLines(*report));
    if (!written.ok()) return Fail(written);
  }
  const bool any = std::any_of(report->cases.begin(), report->cases.end(),
                               [](const ReducedCase& one) { return !one.folder.empty(); });
  return any ? kExitOk : kExitMisaligned;
}

}  // namespace
}  // namespace plumb

int main(int argc, char** argv) { return plumb::RunTool(plumb::Main, argc, argv); }
