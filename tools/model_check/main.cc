// SPDX-License-Identifier: Apache-2.0
// model_check: runs a network on devices, operator by operator beside the float64 reference, and names the guilty
// layer.
#include <fmt/core.h>

#include <cstdlib>

#include "model_check/bundle.h"
#include "model_check/operator.h"
#include "model_check/options.h"
#include "model_check/run.h"
#include "plumb/tool/environment.h"

namespace plumb {
namespace {

constexpr const char* kExamples = R"(Examples:
  model_check -m squeezenet.tnnproto                     every device present, generated input
  model_check -m net.tnnproto -d X86 -i image.png -n 123.7,116.8,103.9 -s 0.017
  model_check -p net.tnnproto -m net.tnnmodel -d X86,OPENCL --json report.json
  model_check -m net.tnnproto --subject dump/            judges what another runtime dumped
  model_check -m net.tnnproto -d X86 --golden ort.npz    NAIVE and X86 beside the original framework
  model_check --op Softmax --input x.npy --output y.npy  judges one kernel's output (--op Softmax --help)
  model_check -m net.onnx --subject dump/ --bundle case.zip     the whole case, to hand over
  model_check --environment mine.json yours.json         what differs between two of them
  DUMP_OUTPUT_BLOB=1 model_check -m net.tnnproto -d X86  also writes every blob to plumb_dump/
Exit codes: 0 aligned, 1 misaligned or nothing compared, 2 bad usage or input, 3 device not available, 4 failure.)";

// "PLUMB_MAX_CPU_ISA=AVX2 ": what else decided how the devices computed.
std::string EnvironmentAgain() {
  std::string text;
  for (const EnvironmentVariable& variable : EnvironmentVariables()) {
    const std::string name = variable.name;
    const char* value = std::getenv(variable.name);
    const bool decides = name == "DUMP_BLOB_UNFUSE" ||
                         (name.rfind("PLUMB_", 0) == 0 && name != "PLUMB_CACHE_DIR" && name != "PLUMB_LOG");
    if (decides && value != nullptr && *value != '\0') text += fmt::format("{}={} ", name, ShellQuoted(value));
  }
  return text;
}

int Main(int argc, char** argv) {
  if (AsksForOperator(argc, argv)) return JudgeOperator(argc, argv);
  if (AsksForEnvironments(argc, argv)) return ShowEnvironments(argc, argv);
  Options options;
  CommandLine command_line(
      "model_check", "Runs a network layer by layer on devices and judges every operator against a float64 reference.",
      kExamples);
  options.AddTo(&command_line);
  if (const auto done = command_line.Parse(argc, argv)) return *done;
  options.again =
      EnvironmentAgain() + command_line.Again({"--device",        "--subject",         "--json",    "--csv",
                                               "--junit",         "--markdown",        "--html",    "--extract",
                                               "--bundle",        "--with-model",      "--sarif",   "--model-explorer",
                                               "--baseline",      "--update-baseline", "--reason",  "--until",
                                               "--write-inputs",  "--inputs",          "--results", "--full",
                                               "--all",           "--quiet",           "--verbose", "--color",
                                               "--output-folder", "--failing-folder"});
  if (options.many.given()) options.many.Keep(command_line);
  return Run(options).Go();
}

}  // namespace
}  // namespace plumb

int main(int argc, char** argv) { return plumb::RunTool(plumb::Main, argc, argv); }
