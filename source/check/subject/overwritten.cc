// SPDX-License-Identifier: Apache-2.0
#include "check/subject/overwritten.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <vector>

#include "check/core/coverage.h"

namespace plumb {
namespace {

// A blob, the layer that wrote it and one that may have written over it.
struct Suspect {
  std::string blob, writer, reader;
};

// Whether the layer's only output has nothing to do with what it should be, and nothing explains it.
bool IsAnotherTensor(const LayerReport& layer) {
  constexpr double kUnrelatedDb = 10;  // below it more is error than value
  if (layer.verdict != Verdict::kWrong || !layer.cause.empty() || layer.outputs.size() != 1) return false;
  const OutputReport& output = layer.outputs[0];
  return output.dtype == DType::kF32 && !(output.introduced.snr_db >= kUnrelatedDb);
}

bool Reads(const LayerReport& layer, const std::string& blob) {
  return std::any_of(layer.step.inputs.begin(), layer.step.inputs.end(),
                     [&](const PortInfo& port) { return port.blob == blob; });
}

// Those that no reader agrees with; one of them works in place when its result is of the same size.
std::vector<Suspect> SuspectsOf(const Graph& graph, const RunReport& report) {
  std::vector<Suspect> suspects;
  for (const LayerReport& writer : report.layers) {
    if (!IsAnotherTensor(writer)) continue;
    const OutputReport& output = writer.outputs[0];
    if (std::find(graph.outputs.begin(), graph.outputs.end(), output.blob) != graph.outputs.end()) continue;
    Suspect suspect{output.blob, writer.step.name, ""};
    bool none_agrees = true;
    for (const LayerReport& reader : report.layers) {
      if (!Reads(reader, output.blob)) continue;
      // Grey, or explained by a larger group: it was computed from what the writer read.
      const bool off = reader.verdict == Verdict::kWrong || reader.verdict == Verdict::kGrey;
      none_agrees = none_agrees && (off || !reader.cause.empty());
      const bool in_place =
          reader.step.outputs.size() == 1 && reader.step.outputs[0].shape.NumElements() == output.shape.NumElements();
      if (in_place) suspect.reader = reader.step.name;
    }
    if (none_agrees && !suspect.reader.empty()) suspects.push_back(suspect);
  }
  return suspects;
}

std::string Sentence(const Suspect& suspect) {
  return fmt::format(
      "the dump of '{}' is neither what '{}' makes nor what its readers read: '{}' works in its memory, or something "
      "else wrote over it; it is left out",
      suspect.blob, suspect.writer, suspect.reader);
}

// Without the tensor every step that holds its writer is explained. Then these say why they are judged so, and one that
// is aligned is grey.
bool IsExplained(const Suspect& suspect, RunReport* report) {
  std::vector<LayerReport*> steps;
  for (LayerReport& layer : report->layers) {
    if (HoldsLayer(layer.step, suspect.writer)) steps.push_back(&layer);
  }
  const auto stays_off = [](const LayerReport* layer) {
    return layer->verdict == Verdict::kNotTested || (layer->verdict == Verdict::kWrong && layer->cause.empty());
  };
  if (steps.empty() || std::any_of(steps.begin(), steps.end(), stays_off)) return false;
  for (LayerReport* layer : steps) {
    layer->verdict = std::max(layer->verdict, Verdict::kGrey);
    layer->reason += (layer->reason.empty() ? "" : "; ") + Sentence(suspect);
  }
  return true;
}

}  // namespace

Result<RunReport> LeaveOutOverwritten(const Graph& graph, const BlobSource& subject,
                                      const std::map<std::string, Tensor>& inputs, const SubjectOptions& options,
                                      RunReport report, std::set<std::string>* left_out) {
  constexpr size_t kMaxSuspects = 4;  // each costs a run
  std::vector<Suspect> suspects = SuspectsOf(graph, report);
  if (suspects.size() > kMaxSuspects) return report;
  std::vector<Suspect> found;
  std::set<std::string> hidden;
  for (const Suspect& suspect : suspects) {
    std::set<std::string> tried = hidden;
    tried.insert(suspect.blob);
    PLUMB_ASSIGN_OR_RETURN(RunReport without,
                           CheckSubjectBlobs(graph, SubjectWithout(subject, tried), inputs, options));
    if (!IsExplained(suspect, &without)) continue;
    for (const Suspect& earlier : found) IsExplained(earlier, &without);
    hidden = std::move(tried);
    found.push_back(suspect);
    without.found_arithmetic = report.found_arithmetic;
    without.found_because = report.found_because;
    without.computed_as = report.computed_as;
    report = std::move(without);
  }
  for (const Suspect& suspect : found) report.notes.push_back(Sentence(suspect));
  if (!found.empty()) ConcludeRun(graph.outputs, options.check.min_tested, &report);
  *left_out = std::move(hidden);
  return report;
}

}  // namespace plumb
