// SPDX-License-Identifier: Apache-2.0
#include "plumb/tool/many.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "check/core/metrics.h"
#include "check/core/scores.h"
#include "plumb/plumb.h"
#include "plumb/tool/file.h"
#include "plumb/tool/interrupt.h"
#include "plumb/tool/printing.h"

namespace plumb {
namespace {

using Json = nlohmann::ordered_json;

double FiniteOr(const Json& value, double other) { return value.is_number() ? value.get<double>() : other; }

Json ToJson(const SampleResult& result) {
  if (!result.error.empty()) return {{"sample", result.name}, {"error", result.error}};
  Json json = {{"sample", result.name},
               {"changed", result.changed},
               {"output", result.output},
               {"relative", std::isfinite(result.relative) ? Json(result.relative) : Json("infinite")}};
  if (result.top1_device < 0) return json;
  json["top1_device"] = result.top1_device, json["top1_reference"] = result.top1_reference;
  json["margin"] = result.margin, json["moved"] = result.moved;
  return json;
}

SampleResult SampleOf(const Json& json) {
  SampleResult result;
  result.name = json.value("sample", "");
  result.error = json.value("error", "");
  result.changed = json.value("changed", false);
  result.output = json.value("output", "");
  result.relative = json.contains("relative") ? FiniteOr(json["relative"], INFINITY) : 0;
  result.top1_device = json.value("top1_device", int64_t{-1});
  result.top1_reference = json.value("top1_reference", int64_t{-1});
  result.margin = json.value("margin", 0.0);
  result.moved = json.value("moved", 0.0);
  return result;
}

// The file of what is done: a line that says of which run it is, then one per sample.
class ResultsFile {
 public:
  // What stands there already; a last line that was cut off is taken away.
  Result<std::map<std::string, SampleResult>> Open(const ManyOptions& options) {
    std::map<std::string, SampleResult> known;
    path_ = options.results;
    if (path_.empty()) return known;
    const Json first = {
        {"format", "plumb-samples"}, {"version", 1}, {"model", options.model}, {"device", options.device}};
    auto text = ReadWholeFile(path_);
    if (!text.ok() && text.status().code() != StatusCode::kNotFound) return text.status();
    std::string kept = text.ok() ? text->substr(0, text->rfind('\n') + 1) : "";
    if (kept.empty()) {
      if (text.ok() && !text->empty()) return Foreign("no line of results");
      kept = first.dump() + "\n";
    }
    PLUMB_RETURN_IF_ERROR(ReadLines(kept, first, &known));
    PLUMB_RETURN_IF_ERROR(WriteFile(path_, kept));
    out_.open(path_, std::ios::app);
    return known;
  }

  Status Add(const SampleResult& result) {
    if (path_.empty()) return Status::Ok();
    out_ << ToJson(result).dump(-1, ' ', false, Json::error_handler_t::replace) << "\n" << std::flush;
    return out_.good() ? Status::Ok() : Status::IoError(fmt::format("'{}' cannot be written", path_));
  }

 private:
  Status Foreign(const std::string& found) const {
    return Status::InvalidArgument(
        fmt::format("'{}': expected the results of this model and device, found {}; give another file, or remove it",
                    path_, found));
  }

  Status ReadLines(const std::string& text, const Json& first, std::map<std::string, SampleResult>* known) const {
    int number = 0;
    for (size_t begin = 0; begin < text.size(); ++number) {
      const size_t end = text.find('\n', begin);
      const Json line = Json::parse(text.substr(begin, end - begin), nullptr, false);
      begin = end + 1;
      if (!line.is_object()) return Foreign(fmt::format("line {}, which is no JSON object", number + 1));
      if (number == 0) {
        if (line != first) return Foreign(Printable(line.dump(-1, ' ', false, Json::error_handler_t::replace)));
        continue;
      }
      SampleResult result;
      try {
        result = SampleOf(line);
      } catch (const Json::exception&) {
        return Foreign(fmt::format("line {}, whose fields have other types", number + 1));
      }
      if (result.error.empty()) (*known)[result.name] = std::move(result);  // what failed is tried again
    }
    return Status::Ok();
  }

  std::string path_;
  std::ofstream out_;
};

class ManyRunner {
 public:
  ManyRunner(const ManyOptions& options, const Graph& graph, Network* device, Network* reference)
      : options_(options), graph_(graph), device_(device), reference_(reference) {}

  SampleResult Run(const Sample& sample) const {
    SampleResult result;
    result.name = sample.name;
    const Status ran = Compare(sample, &result);
    if (!ran.ok()) result.error = ran.message();
    return result;
  }

 private:
  Status Compare(const Sample& sample, SampleResult* result) const {
    InputOptions inputs = options_.inputs;
    inputs.files = sample.files;
    inputs.values = sample.values;
    PLUMB_ASSIGN_OR_RETURN(const NetworkInputs prepared, PrepareInputs(inputs, graph_, device_->blobs()));
    PLUMB_ASSIGN_OR_RETURN(const auto device, RunNetwork(device_, prepared.values));
    PLUMB_ASSIGN_OR_RETURN(const auto reference, RunNetwork(reference_, prepared.values));
    bool first = true;
    for (const auto& [name, value] : device) {
      SampleResult one = OfOutput(name, value, reference.at(name));
      const bool worse = one.changed != result->changed ? one.changed : one.relative > result->relative;
      one.name = result->name;
      if (first || worse) *result = std::move(one);
      first = false;
    }
    return Status::Ok();
  }

  static SampleResult OfOutput(const std::string& name, const Tensor& device, const Tensor& reference) {
    SampleResult result;
    result.output = name;
    const DiffMetrics difference = CompareTensors(device, reference);
    const bool lost = difference.nan_a != difference.nan_b || difference.inf_a != difference.inf_b;
    result.relative = lost ? INFINITY : RelativeDifference(difference, reference);
    if (!IsScoreVector(device.shape())) return result;
    const int64_t found = TopIndices(device, 1)[0], expected = TopIndices(reference, 1)[0];
    result.top1_device = found, result.top1_reference = expected;
    result.changed = found != expected;
    result.margin = reference.ValueAt(expected) - reference.ValueAt(found);
    result.moved = result.margin + device.ValueAt(found) - device.ValueAt(expected);
    return result;
  }

  const ManyOptions& options_;
  const Graph& graph_;
  Network* device_;
  Network* reference_;
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

bool IsWorse(const SampleResult& a, const SampleResult& b) {
  if (a.error.empty() != b.error.empty()) return a.error.empty();
  if (a.changed != b.changed) return a.changed;
  return a.relative > b.relative;
}

std::string Number(double value) { return std::isfinite(value) ? fmt::format("{:.3g}", value) : "infinite"; }

}  // namespace

Result<ManyReport> CheckMany(const std::shared_ptr<const Graph>& graph, const std::vector<Sample>& samples,
                             const ManyOptions& options) {
  ResultsFile file;
  PLUMB_ASSIGN_OR_RETURN(auto known, file.Open(options));
  NetworkOptions plain = options.network;
  plain.single_forward = false;
  NetworkOptions own;
  own.input_shapes = plain.input_shapes;
  PLUMB_ASSIGN_OR_RETURN(const auto device, CreateNetwork(graph, options.device, plain));
  PLUMB_ASSIGN_OR_RETURN(const auto reference, CreateNetwork(graph, "NAIVE", own));
  const ManyRunner runner(options, *graph, device.get(), reference.get());
  ManyReport report;
  for (const Sample& sample : samples) {
    PLUMB_RETURN_IF_ERROR(Interrupter::Check());
    if (options.progress) options.progress(static_cast<int64_t>(report.samples.size()), sample.name);
    const auto done = known.find(sample.name);
    report.kept += done != known.end();
    SampleResult result = done != known.end() ? done->second : runner.Run(sample);
    if (done == known.end()) PLUMB_RETURN_IF_ERROR(file.Add(result));
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
    text += fmt::format("outputs differ by {} of their largest value at most", Number(report.samples[0].relative));
  }
  return text + (report.kept > 0 ? fmt::format("; {} were done before\n", report.kept) : "\n");
}

std::vector<TextCell> RowOf(const SampleResult& sample) {
  const std::string top = sample.top1_device < 0 ? ""
                          : sample.changed       ? fmt::format("#{} -> #{}", sample.top1_reference, sample.top1_device)
                                                 : fmt::format("#{}", sample.top1_device);
  return {{sample.name},
          {sample.output},
          {top},
          {sample.changed ? Number(sample.margin) : "-"},
          {sample.changed ? Number(sample.moved) : "-"},
          {Number(sample.relative)}};
}

}  // namespace

std::string FormatMany(const ManyReport& report, const std::string& device, int most) {
  std::string text = Counts(report, device);
  TextTable table({{"sample", 0, false, true},
                   {"output", 1, false, true},
                   {"top-1", 0},
                   {"margin", 2, true},
                   {"moved", 2, true},
                   {"relative", 0, true}});
  const int64_t rows = std::min<int64_t>(most, report.ran);
  for (int64_t i = 0; i < rows; ++i) table.Add(RowOf(report.samples[static_cast<size_t>(i)]));
  if (rows > 0) text += table.Format(100);
  if (rows > 0 && report.ran > rows) text += fmt::format("...    {} more that differ less\n", report.ran - rows);
  for (const SampleResult& sample : report.samples) {
    if (!sample.error.empty())
      text += PrintableLine(fmt::format("'{}' could not be run: {}", sample.name, sample.error)) + "\n";
  }
  return text;
}

}  // namespace plumb
