// SPDX-License-Identifier: Apache-2.0
// DiffStages: pairs samples and stages, and walks along each pair: what differs, and whether the stage did it.
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "stage/coco.h"
#include "stage/manifest.h"
#include "stage/sample_diff.h"

namespace plumb {
namespace {

// Stages by name and how often it came before; then, of what is left, by kind.
std::vector<std::pair<int, int>> PairStages(const StageSample& a, const StageSample& b) {
  const auto pair_by = [](const StageSample& one, const StageSample& other, auto key, std::map<int, int>* pairs) {
    std::set<int> used;
    for (const auto& [i, j] : *pairs) used.insert(j);
    std::map<std::string, std::vector<int>> places;
    for (int j = 0; j < static_cast<int>(other.stages.size()); ++j) {
      if (used.count(j) == 0) places[key(other.stages[static_cast<size_t>(j)])].push_back(j);
    }
    std::map<std::string, size_t> next;
    for (int i = 0; i < static_cast<int>(one.stages.size()); ++i) {
      const std::string word = key(one.stages[static_cast<size_t>(i)]);
      if (word.empty() || pairs->count(i) != 0) continue;
      const std::vector<int>& found = places[word];
      if (next[word] < found.size()) (*pairs)[i] = found[next[word]++];
    }
  };
  std::map<int, int> pairs;
  pair_by(
      a, b, [](const StageRecord& stage) { return stage.name; }, &pairs);
  pair_by(
      a, b, [](const StageRecord& stage) { return stage.kind; }, &pairs);
  return {pairs.begin(), pairs.end()};
}

std::vector<std::string> Unpaired(const StageSample& sample, const std::set<int>& paired) {
  std::vector<std::string> names;
  for (int i = 0; i < static_cast<int>(sample.stages.size()); ++i) {
    if (paired.count(i) == 0) names.push_back(sample.stages[static_cast<size_t>(i)].name);
  }
  return names;
}

void CountSample(const StageSampleReport& sample, StageReport* report) {
  const auto has = [&](StageVerdict verdict) {
    return std::any_of(sample.rows.begin(), sample.rows.end(),
                       [&](const StageRow& row) { return row.verdict == verdict; });
  };
  if (has(StageVerdict::kIntroduced) || has(StageVerdict::kInherited) || has(StageVerdict::kDiffers)) {
    ++report->different;
  } else if (has(StageVerdict::kAligned)) {
    ++report->aligned;
  } else {
    ++report->not_tested;
  }
}

Status DiffPairOfSamples(const StageSample& original, const StageSample& port, const std::vector<StageSample>& others,
                         const StageDiffOptions& options, StageReport* report) {
  const std::vector<std::pair<int, int>> pairs = PairStages(original, port);
  SampleDiff diff(original, port, pairs, others, options);
  PLUMB_RETURN_IF_ERROR(diff.Run());
  std::set<int> of_original, of_port;
  for (const auto& [i, j] : pairs) of_original.insert(i), of_port.insert(j);
  StageSampleReport& sample = diff.report();
  sample.only_original = Unpaired(original, of_original);
  sample.only_port = Unpaired(port, of_port);
  for (const StageSample* side : {&original, &port}) {
    if (!side->complete) sample.notes.push_back(fmt::format("the stages in '{}' are incomplete", side->folder));
  }
  CountSample(sample, report);
  report->samples.push_back(std::move(sample));
  return Status::Ok();
}

}  // namespace

Result<StageReport> DiffStages(const std::string& original, const std::string& port, const StageDiffOptions& options) {
  std::vector<BrokenSample> broken;
  PLUMB_ASSIGN_OR_RETURN(std::vector<StageSample> all, ReadWholeSamples(original, &broken));
  PLUMB_ASSIGN_OR_RETURN(std::vector<StageSample> theirs, ReadWholeSamples(port, &broken));
  if (EndsWith(original, ".json") && EndsWith(port, ".json")) {
    AddImagesWithout(all, &theirs);
    AddImagesWithout(theirs, &all);
  }
  StageReport report;
  report.both_empty = all.empty() && theirs.empty() && broken.empty();
  if (LeaveScoresOut(&all, &theirs)) report.notes.push_back("one side has no scores: they are not compared");
  report.original = original;
  report.port = port;
  const auto note = [&report](const Status& status) {
    report.notes.push_back(status.message());
    ++report.broken;
  };
  std::set<std::string> broken_names;
  for (const BrokenSample& one : broken) {
    note(one.status);
    broken_names.insert(one.name);
  }
  const auto alone = [&](const std::string& sample, const char* side) {
    if (broken_names.count(sample) == 0)
      report.notes.push_back(fmt::format("sample '{}' is in the {} alone", sample, side));
  };
  if (all.size() == 1 && theirs.size() == 1 && broken.empty()) {  // whatever they are called
    PLUMB_RETURN_IF_ERROR(DiffPairOfSamples(all[0], theirs[0], all, options, &report));
    return report;
  }
  std::map<std::string, const StageSample*> by_name;
  for (const StageSample& sample : theirs) by_name[sample.name] = &sample;
  for (const StageSample& sample : all) {
    const auto found = by_name.find(sample.name);
    if (found == by_name.end()) {
      alone(sample.name, "original");
      continue;
    }
    const Status status = DiffPairOfSamples(sample, *found->second, all, options, &report);
    if (!status.ok()) note(status.AddContext(fmt::format("sample '{}'", sample.name)));
    by_name.erase(found);
  }
  for (const auto& [name, sample] : by_name) alone(name, "port");
  return report;
}

}  // namespace plumb
