// SPDX-License-Identifier: Apache-2.0
// stage_diff: compares what two programs did to an image before the network, and to the outputs after it, stage by
// stage, and names the first stage that differs and its cause.
#include <fmt/core.h>

#include "common/cli.h"
#include "common/output_options.h"
#include "common/outputs.h"
#include "common/print.h"
#include "plumb/stage.h"

namespace plumb {
namespace {

constexpr const char* kExamples =
    R"(Both programs write their stages down (plumbnn.stage in Python, plumb::Stage in C++,
plumb_dump_stage in C), each under its own folder:
  DUMP_STAGE_DIR=original python original.py cat.jpg
  DUMP_STAGE_DIR=port ./port cat.jpg
Examples:
  stage_diff original port                       one row per stage, the cause of the first that differs
  stage_diff original port -m net.onnx           and the answer with that stage mended
  stage_diff original/cat.jpg port/cat.jpg       one sample
  stage_diff original port --json report.json
  stage_diff original.json port.json             detections in COCO's form, image by image
Verdicts: aligned; introduced: the stage itself differs; inherited: it does the same on other values;
differs: nobody can tell which. 'own' is what the original's stage, done again on the port's own
input, is off by from the port's.
Exit codes: 0 aligned, 1 different or nothing compared, 2 bad usage or input (also: samples that
cannot be read; the others are compared).)";

struct Options {
  std::string original, port, model, json;
  double tolerance = 1e-3;
  OutputOptions output;
};

int Main(int argc, char** argv) {
  Options options;
  CommandLine command("stage_diff", "Compares the stages of two programs: decode, resize, normalise, ..., answer.",
                      kExamples);
  command.Positional("ORIGINAL", &options.original,
                     "stages that count as right: a folder, or detections as COCO's .json", true);
  command.Positional("PORT", &options.port, "the same of the program that should do the same", true);
  command.Add("--model", &options.model,
              "the network between the stages: runs on the mended input, and tells whether "
              "it is guilty itself");
  command.Add("--rtol", &options.tolerance, "of the network's outputs: share of the largest value that may differ");
  command.Add("--json", &options.json, "write the report as JSON");
  options.output.AddTo(&command, "only the last sentence", "");
  if (const auto code = command.Parse(argc, argv)) return *code;
  StageDiffOptions diff;
  diff.tolerance = options.tolerance;
  if (!options.model.empty()) {
    auto network = StageNetwork(options.model);
    if (!network.ok()) return Fail(network.status());
    diff.model = *std::move(network);
  }
  const auto report = DiffStages(options.original, options.port, diff);
  if (!report.ok()) return Fail(report.status());
  const StageStyle style = {options.output.Colored(), static_cast<size_t>(OutputWidth())};
  PrintText(options.output.quiet ? FormatStageSummary(*report) : FormatStageText(*report, style));
  if (!options.json.empty()) {
    const Status written = WriteOutput(options.json, FormatStageJson(*report));
    if (!written.ok()) return Fail(written);
  }
  if (report->broken > 0) return kExitUsage;
  return report->different > 0 || (report->aligned == 0 && !report->both_empty) ? kExitMisaligned : kExitOk;
}

}  // namespace
}  // namespace plumb

int main(int argc, char** argv) { return plumb::RunTool(plumb::Main, argc, argv); }
