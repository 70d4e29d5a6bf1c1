// SPDX-License-Identifier: Apache-2.0
#include "model_check/many.h"

#include <fmt/core.h>

#include <algorithm>

#include "common/print.h"
#include "plumb/plumb.h"

namespace plumb {
namespace {

constexpr int kMostRows = 10;

// The first dim of the network's first input: so many rows of a .npz are one sample.
int64_t BatchOf(const Graph& graph) {
  if (graph.inputs.empty() || graph.inputs[0].shape.rank() == 0) return 1;
  return std::max<int64_t>(1, graph.inputs[0].shape[0]);
}

}  // namespace

void ManyArguments::AddTo(CommandLine* c) {
  c->Add(
      "--inputs", &samples,
      "many samples: a folder, a .txt of paths or a .npz. Their outputs are compared, then the worst sample is checked "
      "layer by layer");
  c->Add("--results", &results, "FILE.jsonl: a line per sample of --inputs; what stands there is not run again");
  c->Check([=] {
    return results.empty() || !samples.empty() ? Status::Ok()
                                               : Status::InvalidArgument("--results is of --inputs: give both");
  });
}

void ManyArguments::AddRulesTo(CommandLine* c) {
  c->NotWith("--inputs",
             {"--input", "--input-range", "--probe", "--subject", "--golden", "--layer-files", "--reference"},
             "it names the inputs of many runs");
}

Sample ManyArguments::OneWithShapes() const {
  const auto listed = ListSamples(samples, 1);
  if (!listed.ok()) return {};
  for (const Sample& sample : *listed) {
    if (!sample.values.empty() || !ShapesOfFiles(sample.files).empty()) return sample;
  }
  return {};
}

Result<ManyOutcome> RunSamples(const ManyArguments& arguments, const ManyRun& run,
                               const std::vector<AskedDevice>& devices) {
  PLUMB_ASSIGN_OR_RETURN(const std::vector<Sample> samples, ListSamples(arguments.samples, BatchOf(*run.graph)));
  ManyOutcome outcome;
  outcome.all = static_cast<int64_t>(samples.size());
  outcome.failed = outcome.all;
  SampleResult worst;
  std::string why;
  for (const AskedDevice& asked : devices) {
    ManyOptions options = run.options;
    options.device = asked.device;
    if (asked.device != "OPENCL" && asked.device != "VULKAN") options.network.device_index = 0;
    if (!OpenDevice(asked.device, options.network.device_index).ok()) continue;
    Progress progress("samples on " + asked.device, outcome.all, run.quiet);
    options.progress = [&](int64_t done, const std::string& name) { progress.Step(done, name); };
    const auto report = CheckMany(run.graph, samples, options);
    progress.Clear();
    if (report.status().code() == StatusCode::kNotSupported) continue;
    if (!report.ok()) return report.status();
    outcome.ran = true;
    outcome.text += FormatMany(*report, asked.device, run.quiet ? 0 : kMostRows, run.width) + (run.quiet ? "" : "\n");
    outcome.failed = std::min(outcome.failed, report->failed);
    if (report->ran == 0) {
      why = report->samples[0].error;
    } else if (worst.name.empty() || IsWorse(report->samples[0], worst)) {
      worst = report->samples[0];
    }
  }
  outcome.worst = samples[0];
  if (!outcome.ran) {
    outcome.failed = 0;
    return outcome;
  }
  if (worst.name.empty()) {
    return Status::InvalidArgument(
        fmt::format("none of the {} samples of '{}' could be run: {}", outcome.all, arguments.samples, why));
  }
  const auto of_that_name = [&](const Sample& sample) { return sample.name == worst.name; };
  outcome.worst = *std::find_if(samples.begin(), samples.end(), of_that_name);
  return outcome;
}

}  // namespace plumb
