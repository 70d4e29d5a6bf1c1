// model_check: runs a network on devices, operator by operator beside the float64 reference, and names the guilty layer.
#include "model_check/options.h"
#include "model_check/run.h"
#include "plumb/plumb.h"

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

int ExitOf(Verdict verdict) {
  return verdict == Verdict::kWrong || verdict == Verdict::kNotTested ? kExitMisaligned : kExitOk;
}

int Main(int argc, char** argv) {
  Options options;
  CommandLine command_line("model_check", "Runs a network layer by layer on devices and judges every operator against a float64 reference.", kExamples);
  options.AddTo(&command_line);
  if (const auto done = command_line.Parse(argc, argv)) return *done;
  options.again = command_line.Again({"-d", "--subject", "--json", "--csv", "--full", "--quiet", "--verbose", "--color", "--do", "--du"});
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

int main(int argc, char** argv) { return plumb::RunTool(plumb::Main, argc, argv); }
