// SPDX-License-Identifier: Apache-2.0
#include "model_check/many.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>

#include "common/print.h"
#include "plumb/plumb.h"
#include "plumb/tool/exit_code.h"
#include "plumb/tool/file.h"
#include "plumb/tool/many_parts.h"

namespace plumb {
namespace {

constexpr int kMostRows = 10;

}  // namespace

void ManyArguments::AddTo(CommandLine* c) {
  c->Add(
      "--inputs", &samples,
      "many samples: a folder, a .txt of paths or a .npz. Their outputs are compared, then the worst sample is checked "
      "layer by layer");
  c->Add("--results", &results, "FILE.jsonl: a line per sample of --inputs; what stands there is not run again");
  c->OneOf("--executor", &executor, {"processes", "loop", "ray"},
           "who runs the samples of --inputs: processes of this machine (of few samples this one), this process, or a "
           "Ray cluster (plumbnn[ray]); the results are the same bytes");
  c->Add("--workers", &workers,
         "of --executor: so many at once, each on one thread unless --threads says otherwise; 0: one per CPU");
  c->Flag("--samples-only", &samples_only, "check none of --inputs layer by layer");
  c->Add("--part", &part,
         "K/N: of --inputs only every N-th sample, from the K-th on, into --results, for machines of one's own; "
         "files of parts are joined by putting one behind the other");
  for (const char* of_many : {"--executor", "--workers", "--samples-only", "--part"})
    c->OnlyWith(of_many, {"--inputs"});
  c->OnlyWith("--part", {"--results"});
  c->Check([this] { return Part().status(); });
  c->Check([this] {
    if (executor != "loop" && part.empty()) return Status::Ok();
    if (workers == 0 && (part.empty() || executor != "ray")) return Status::Ok();
    return Status::InvalidArgument(fmt::format("{} does nothing with {}: one process runs them",
                                               workers > 0 ? "--workers" : "--executor ray",
                                               part.empty() ? "--executor loop" : "--part"));
  });
  c->Check([this] {
    return results.empty() || !samples.empty() ? Status::Ok()
                                               : Status::InvalidArgument("--results is of --inputs: give both");
  });
  c->Check([this] {
    constexpr int kMost = 1024;
    return workers >= 0 && workers <= kMost
               ? Status::Ok()
               : Status::InvalidArgument(fmt::format("--workers: expected 0 to {}, found {}", kMost, workers));
  });
}

void ManyArguments::AddRulesTo(CommandLine* c) {
  c->NotWith("--inputs", {"--input", "--input-range", "--probe", "--layer-files", "--reference"},
             "it names the inputs of many runs");
  for (const char* of_layers :
       {"--json", "--csv", "--junit", "--markdown", "--html", "--sarif", "--model-explorer", "--baseline", "--bundle",
        "--extract", "--layers", "--repeat", "--poison", "--vary-threads", "--batch", "--full", "--all"}) {
    c->NotWith(of_layers, {"--samples-only", "--part"}, "no layer is judged");
  }
}

void ManyArguments::Keep(const CommandLine& c) {
  command = c.Words({"--results",    "--executor",        "--workers",       "--part",           "--samples-only",
                     "--quiet",      "--verbose",         "--color",         "--json",           "--csv",
                     "--junit",      "--markdown",        "--html",          "--sarif",          "--model-explorer",
                     "--baseline",   "--update-baseline", "--reason",        "--until",          "--bundle",
                     "--with-model", "--extract",         "--show",          "--layers",         "--repeat",
                     "--poison",     "--vary-threads",    "--batch",         "--full",           "--all",
                     "--expect",     "--write-inputs",    "--output-folder", "--failing-folder", "--outputs-only"});
  command.insert(command.end(), {"--samples-only", "--executor", "loop", "--quiet"});
  if (!c.Given("--threads")) command.insert(command.end(), {"--threads", "1"});
}

Result<std::pair<int64_t, int64_t>> ManyArguments::Part() const {
  if (part.empty()) return std::pair<int64_t, int64_t>(1, 1);
  int64_t number = 0, of = 0;
  const char* end = part.data() + part.size();
  const auto first = std::from_chars(part.data(), end, number);
  const bool slash = first.ec == std::errc() && first.ptr != end && *first.ptr == '/';
  const auto second = slash ? std::from_chars(first.ptr + 1, end, of) : first;
  if (!slash || second.ec != std::errc() || second.ptr != end || number < 1 || number > of) {
    return Status::InvalidArgument(fmt::format("--part: expected K/N with 1 <= K <= N, such as 2/8, found '{}'", part));
  }
  return std::pair(number, of);
}

Sample ManyArguments::OneWithShapes() const {
  const auto listed = ListSamples(samples, 1);
  if (!listed.ok()) return {};
  for (const Sample& sample : *listed) {
    if (sample.load || !sample.values.empty() || !ShapesOfFiles(sample.files).empty()) return sample;
  }
  return {};
}

namespace {

// One call's work on all samples.
class SamplesRun {
 public:
  SamplesRun(const ManyArguments& arguments, const ManyRun& run)
      : arguments_(arguments), options_(run.options), run_(run) {}

  Result<ManyOutcome> Go(const std::vector<AskedDevice>& devices) {
    PLUMB_RETURN_IF_ERROR(List());
    if (samples_.empty()) return std::move(outcome_);  // a part beyond the last one
    PLUMB_RETURN_IF_ERROR(RunElsewhere(devices));
    if (options_.subject.given()) PLUMB_RETURN_IF_ERROR(Take("subject", true, options_));
    for (const AskedDevice& asked : devices) {
      ManyOptions options = options_;
      options.subject = {};
      if (asked.device != "OPENCL" && asked.device != "VULKAN") options.network.device_index = 0;
      const Status there = OpenDevice(asked.device, options.network.device_index).status();
      if (!there.ok()) {
        LeaveOut(there, ExitCodeOfDevice(there));
      } else {
        PLUMB_RETURN_IF_ERROR(Take(asked.device, asked.by_name, options));
      }
    }
    outcome_.worst = samples_[0];
    if (!outcome_.ran) {
      outcome_.failed = 0;
      return std::move(outcome_);
    }
    if (worst_.name.empty() && !options_.says_begun) {
      return Status::InvalidArgument(
          fmt::format("none of the {} samples of '{}' could be run: {}", outcome_.all, arguments_.samples, why_));
    }
    if (worst_.name.empty()) return std::move(outcome_);
    const auto of_that_name = [&](const Sample& sample) { return sample.name == worst_.name; };
    outcome_.worst = *std::find_if(samples_.begin(), samples_.end(), of_that_name);
    return FindDumps();
  }

 private:
  Status List() {
    PLUMB_ASSIGN_OR_RETURN(const std::vector<Sample> all, ListSamples(arguments_.samples, SampleBatch(*run_.graph)));
    PLUMB_ASSIGN_OR_RETURN(const auto part, arguments_.Part());
    for (size_t i = static_cast<size_t>(part.first) - 1; i < all.size(); i += static_cast<size_t>(part.second))
      samples_.push_back(all[i]);
    options_.says_begun = !arguments_.part.empty();
    outcome_.all = outcome_.failed = static_cast<int64_t>(samples_.size());
    return Status::Ok();
  }

  // 0: this process runs all.
  int Workers() const {
    if (arguments_.executor == "loop" || options_.says_begun) return 0;
    if (arguments_.workers > 0) return arguments_.workers;
    const int some = WorthwhileWorkers(samples_.size());
    return arguments_.executor == "ray" ? std::max(1, some) : some;
  }

  // Processes leave their lines in the file of results, which the run here then finds.
  Status RunElsewhere(const std::vector<AskedDevice>& devices) {
    const int workers = Workers();
    if (workers == 0) return Status::Ok();
    if (options_.results.empty()) {
      PLUMB_ASSIGN_OR_RETURN(work_, WorkFolder::Make("plumb-samples"));
      options_.results = work_.path() + "/results.jsonl";
    }
    PLUMB_RETURN_IF_ERROR(BeginResults(*run_.graph, options_));
    constexpr int kPartsOfRay = 4;  // of each worker: what one that dies has to do again
    const size_t sides = devices.size() + (options_.subject.given() ? 1 : 0);
    PartsOptions parts;
    parts.command = arguments_.command;
    parts.results = options_.results;
    for (const Sample& sample : samples_) parts.samples.push_back(sample.name);
    parts.ray = arguments_.executor == "ray";
    parts.workers = workers;
    parts.parts = std::min(static_cast<int64_t>(workers) * (parts.ray ? kPartsOfRay : 1), outcome_.all);
    const auto all = static_cast<int64_t>(samples_.size() * sides);
    Progress progress(fmt::format("samples in {} processes", workers), all, run_.quiet, true);
    if (!run_.quiet) parts.progress = [&](int64_t done) { progress.Step(done, ""); };
    const Status ran = RunParts(parts);
    progress.Clear();
    elsewhere_ = true;
    return ran;
  }

  Status Take(const std::string& side, bool by_name, ManyOptions options) {
    options.device = side;
    Progress progress("samples on " + side, outcome_.all, run_.quiet, true);
    options.progress = [&](int64_t done, const std::string& name) { progress.Step(done, name); };
    auto report = CheckMany(run_.graph, samples_, options);
    progress.Clear();
    if (report.status().code() == StatusCode::kNotSupported) {
      if (by_name) LeaveOut(report.status(), ExitCodeOf(report.status()));
      if (!by_name && arguments_.samples_only)
        outcome_.text += fmt::format("{}: skipped: {}\n", side, report.status().message());
      return Status::Ok();
    }
    if (!report.ok()) return report.status();
    if (elsewhere_) report->kept = 0;
    outcome_.ran = true;
    outcome_.text +=
        FormatMany(*report, SidesOf(options), run_.quiet ? 0 : kMostRows, run_.width) + (run_.quiet ? "" : "\n");
    outcome_.failed = std::min(outcome_.failed, report->failed);
    if (report->ran == 0) {
      why_ = report->samples[0].error;
    } else if (worst_.name.empty() || IsWorse(report->samples[0], worst_)) {
      worst_ = report->samples[0];
    }
    return Status::Ok();
  }

  void LeaveOut(const Status& why, int exit_code) {
    if (outcome_.left_out.ok()) outcome_.left_out = why, outcome_.exit_code = exit_code;
  }

  Result<ManyOutcome> FindDumps() {
    for (const auto& [dumps, found] :
         {std::pair(&options_.subject, &outcome_.subject), {&options_.golden, &outcome_.golden}}) {
      if (!dumps->given() || (dumps == &options_.golden && options_.make_golden)) continue;
      auto source = TensorsOfSample(*dumps, worst_.name, SampleBatch(*run_.graph));
      if (source.ok()) *found = std::move(*source);  // of another side's worst sample it may be missing
    }
    return std::move(outcome_);
  }

  const ManyArguments& arguments_;
  ManyOptions options_;
  const ManyRun& run_;
  std::vector<Sample> samples_;
  ManyOutcome outcome_;
  SampleResult worst_;
  WorkFolder work_;
  bool elsewhere_ = false;
  std::string why_;
};

}  // namespace

Result<ManyOutcome> RunSamples(const ManyArguments& arguments, const ManyRun& run,
                               const std::vector<AskedDevice>& devices) {
  return SamplesRun(arguments, run).Go(devices);
}

}  // namespace plumb
