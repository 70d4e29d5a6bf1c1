// SPDX-License-Identifier: Apache-2.0
#include "plumb/tool/many.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "check/core/metrics.h"
#include "check/core/scores.h"
#include "plumb/dump.h"
#include "plumb/plumb.h"
#include "plumb/tool/interrupt.h"
#include "plumb/tool/printing.h"
#include "session/sample_results.h"

namespace plumb {
namespace {

SampleResult OfOutput(const std::string& name, const Tensor& device, const Tensor& reference) {
  SampleResult result;
  result.output = name;
  result.relative = RelativeDifference(CompareTensors(device, reference), reference);
  if (!IsScoreVector(device.shape())) return result;
  const int64_t found = TopIndices(device, 1)[0], expected = TopIndices(reference, 1)[0];
  result.top1_device = found, result.top1_reference = expected;
  result.changed = found != expected;
  result.margin = reference.ValueAt(expected) - reference.ValueAt(found);
  result.moved = result.margin + device.ValueAt(found) - device.ValueAt(expected);
  return result;
}

// Without the dump that the environment may ask for, which is of the run that is looked at.
Result<std::unique_ptr<Network>> NetworkOf(const std::shared_ptr<const Graph>& graph, const std::string& device,
                                           const NetworkOptions& options) {
  PLUMB_ASSIGN_OR_RETURN(std::shared_ptr<Device> opened, OpenDevice(device, options.device_index));
  return Network::Create(graph, std::move(opened), options);
}

class ManyRunner {
 public:
  ManyRunner(const ManyOptions& options, const std::shared_ptr<const Graph>& graph)
      : options_(options), graph_(graph) {}

  Status Open() {
    PLUMB_ASSIGN_OR_RETURN(const DumpOptions dump, DumpOptionsFromEnvironment());
    NetworkOptions plain = options_.network;
    plain.single_forward = false;
    plain.unfuse = plain.unfuse || dump.unfuse;
    PLUMB_ASSIGN_OR_RETURN(device_, NetworkOf(graph_, options_.device, plain));
    NetworkOptions own;
    own.input_shapes = plain.input_shapes;
    PLUMB_ASSIGN_OR_RETURN(reference_, NetworkOf(graph_, "NAIVE", own));
    return results_.Open(options_, *graph_);
  }

  // The sample's result, run or out of the file of results.
  Result<SampleResult> Take(const Sample& sample, bool* kept) {
    InputOptions options = options_.inputs;
    options.files = sample.files;
    options.values = sample.values;
    const auto inputs = PrepareInputs(options, *graph_, device_->blobs());
    const std::string checksum = inputs.ok() ? ChecksumOf(inputs->values) : "";
    const SampleResult* done = inputs.ok() ? results_.Find(sample.name, checksum) : nullptr;
    *kept = done != nullptr;
    if (*kept) return *done;
    auto ran = inputs.ok() ? Run(*inputs) : inputs.status();
    SampleResult result;
    if (ran.ok()) {
      result = std::move(*ran);
    } else {
      result.error = ran.status().message();
    }
    result.name = sample.name;
    PLUMB_RETURN_IF_ERROR(results_.Add(result, checksum));
    return result;
  }

 private:
  Result<SampleResult> Run(const NetworkInputs& inputs) {
    SampleResult worst;
    PLUMB_ASSIGN_OR_RETURN(const auto device, RunNetwork(device_.get(), inputs.values));
    PLUMB_ASSIGN_OR_RETURN(const auto reference, RunNetwork(reference_.get(), inputs.values));
    for (const auto& [name, value] : device) {
      SampleResult one = OfOutput(name, value, reference.at(name));
      if (worst.output.empty() || IsWorse(one, worst)) worst = std::move(one);
    }
    return worst;
  }

  const ManyOptions& options_;
  const std::shared_ptr<const Graph>& graph_;
  std::unique_ptr<Network> device_, reference_;
  SampleResults results_;
};

// E. B. Wilson, Journal of the American Statistical Association 22 (1927): the interval of a share, here of 95 %.
void AddInterval(ManyReport* report) {
  if (report->ran == 0) return;
  constexpr double kZ = 1.959963984540054;
  const auto n = static_cast<double>(report->ran);
  const double share = static_cast<double>(report->agreed) / n, z2 = kZ * kZ;
  const double middle = (share + z2 / (2 * n)) / (1 + z2 / n);
  const double half = kZ / (1 + z2 / n) * std::sqrt(share * (1 - share) / n + z2 / (4 * n * n));
  report->low = std::max(0.0, middle - half), report->high = std::min(1.0, middle + half);
}

std::string ShortNumber(double value) { return std::isfinite(value) ? fmt::format("{:.3g}", value) : "infinite"; }

}  // namespace

bool IsWorse(const SampleResult& a, const SampleResult& b) {
  if (a.error.empty() != b.error.empty()) return a.error.empty();
  if (a.changed != b.changed) return a.changed;
  return a.relative > b.relative;
}

Result<ManyReport> CheckMany(const std::shared_ptr<const Graph>& graph, const std::vector<Sample>& samples,
                             const ManyOptions& options) {
  ManyRunner runner(options, graph);
  PLUMB_RETURN_IF_ERROR(runner.Open());
  ManyReport report;
  for (const Sample& sample : samples) {
    PLUMB_RETURN_IF_ERROR(Interrupter::Check());
    if (options.progress) options.progress(static_cast<int64_t>(report.samples.size()), sample.name);
    bool kept = false;
    PLUMB_ASSIGN_OR_RETURN(SampleResult result, runner.Take(sample, &kept));
    report.kept += kept;
    report.failed += !result.error.empty();
    report.ran += result.error.empty();
    report.agreed += result.error.empty() && !result.changed;
    report.samples.push_back(std::move(result));
  }
  std::stable_sort(report.samples.begin(), report.samples.end(), IsWorse);
  AddInterval(&report);
  return report;
}

namespace {

std::string Counts(const ManyReport& report, const std::string& device) {
  const auto scores = [](const SampleResult& sample) { return sample.top1_device >= 0; };
  std::string text = fmt::format("samples {} run on {} and on the reference: ", report.ran, device);
  if (report.ran == 0) {
    text += "none could be";
  } else if (std::any_of(report.samples.begin(), report.samples.end(), scores)) {
    text += fmt::format("the answer is the same for {} ({:.1f} %, 95 % interval {:.1f} to {:.1f} %)", report.agreed,
                        100.0 * static_cast<double>(report.agreed) / static_cast<double>(report.ran), 100 * report.low,
                        100 * report.high);
  } else {
    text += fmt::format("outputs differ by {} of their largest value at most", ShortNumber(report.samples[0].relative));
  }
  return text + (report.kept > 0 ? fmt::format("; {} were done before", report.kept) : "");
}

std::vector<TextCell> RowOf(const SampleResult& sample) {
  const std::string top = sample.top1_device < 0 ? ""
                          : sample.changed       ? fmt::format("#{} -> #{}", sample.top1_reference, sample.top1_device)
                                                 : fmt::format("#{}", sample.top1_device);
  return {{sample.name},
          {sample.output},
          {top},
          {sample.changed ? ShortNumber(sample.margin) : "-"},
          {sample.changed ? ShortNumber(sample.moved) : "-"},
          {ShortNumber(sample.relative)}};
}

}  // namespace

std::string FormatMany(const ManyReport& report, const std::string& device, int most, size_t width) {
  std::string text = Wrapped(Counts(report, device), width, 8) + "\n";
  TextTable table({{"sample", 0, false, true},
                   {"output", 1, false, true},
                   {"top-1", 0},
                   {"margin", 2, true},
                   {"moved", 2, true},
                   {"relative", 0, true}});
  const int64_t rows = std::min<int64_t>(most, report.ran);
  for (int64_t i = 0; i < rows; ++i) table.Add(RowOf(report.samples[static_cast<size_t>(i)]));
  if (rows > 0) text += table.Format(width);
  if (rows > 0 && report.ran > rows) text += fmt::format("...    {} more that differ less\n", report.ran - rows);
  for (const SampleResult& sample : report.samples) {
    if (!sample.error.empty())
      text +=
          Wrapped(PrintableLine(fmt::format("'{}' could not be run: {}", sample.name, sample.error)), width, 4) + "\n";
  }
  return text;
}

}  // namespace plumb
