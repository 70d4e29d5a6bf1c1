// SPDX-License-Identifier: Apache-2.0
#include "samples/dumped_samples.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <system_error>

#include "base/text.h"
#include "check/core/metrics.h"
#include "session/foreign.h"

namespace plumb {
namespace {

namespace fs = std::filesystem;

// A runtime that computes in bf16 may have stored the input in it, too.
constexpr double kSameInput = 1.0 / 256;

// "cat.png" and "cat"; of "images/cat.png" (a list's line), too.
std::vector<std::string> NamesOf(const std::string& sample) {
  const fs::path path = fs::path(sample).filename();
  std::vector<std::string> names = {path.string()};
  if (path.stem() != path) names.push_back(path.stem().string());
  return names;
}

}  // namespace

std::string DumpedSamples::NameOf(const std::string& sample) { return NamesOf(sample).back(); }

Result<DumpedSamples> DumpedSamples::Open(const std::string& what, const std::string& path, int64_t batch) {
  DumpedSamples opened(what, path);
  std::error_code error;
  if (!fs::exists(path, error)) return Status::NotFound(fmt::format("the {} '{}' does not exist", what, path));
  if (!fs::is_directory(path, error)) {
    if (!EndsWith(path, ".npz")) {
      return Status::InvalidArgument(fmt::format(
          "'{}': expected the {} of many samples as a folder with a dump for each, or a .npz of outputs, found "
          "another file",
          path, what));
    }
    PLUMB_ASSIGN_OR_RETURN(const std::vector<Sample> rows, ListSamples(path, batch));
    for (const Sample& row : rows) opened.rows_[row.name] = row;
    return opened;
  }
  PLUMB_ASSIGN_OR_RETURN(const std::vector<Sample> entries, ListSamples(path, batch));
  for (const Sample& entry : entries) {
    const std::string dump = (fs::path(path) / entry.name).string();
    std::vector<std::string> names = NamesOf(entry.name);
    if (fs::is_directory(dump, error)) names.resize(1);  // img.v2 is no img
    for (const std::string& name : names) opened.paths_[name].push_back(dump);
  }
  return opened;
}

Result<TensorSource> DumpedSamples::Find(const std::string& sample) const {
  const auto row = rows_.find(sample);
  if (row != rows_.end()) {
    TensorSource source;
    PLUMB_ASSIGN_OR_RETURN(const auto values, row->second.Values());
    for (const auto& [name, value] : values) source.tensors.push_back({name, value});
    return source;
  }
  if (!rows_.empty()) {
    return Status::NotFound(
        fmt::format("the {} '{}' has the rows 0 to {}, and none of this sample: give a folder with a dump for each "
                    "sample",
                    what_, path_, rows_.size() - 1));
  }
  for (const std::string& name : NamesOf(sample)) {
    const auto found = paths_.find(name);
    if (found == paths_.end()) continue;
    const std::vector<std::string>& paths = found->second;
    if (paths.size() == 1) return TensorSource{paths[0], {}};
    return Status::InvalidArgument(
        fmt::format("the {} has '{}' and '{}' of this sample: take one of them away", what_, paths[0], paths[1]));
  }
  return Status::NotFound(
      fmt::format("the {} '{}' has nothing of the name '{}': it holds a dump for each sample, under its name", what_,
                  path_, NameOf(sample)));
}

Result<std::map<std::string, Tensor>> OutputsOf(const TensorSource& source, const std::map<std::string, Tensor>& inputs,
                                                const SampleReading& how) {
  const bool is_golden = std::string(how.what) == "golden";
  Foreign foreign(how.pairing, how.has_other);
  PLUMB_RETURN_IF_ERROR(is_golden ? foreign.OpenGolden(source) : foreign.OpenSubject(source));
  PLUMB_RETURN_IF_ERROR(foreign.CheckSameModel(how.graph));
  const ImportRecord none;
  PLUMB_RETURN_IF_ERROR(foreign.Pair(how.graph, how.blobs, how.record == nullptr ? none : *how.record));
  NetworkInputs given;
  given.values = inputs;
  std::vector<InputMatch> matches;
  PLUMB_RETURN_IF_ERROR(foreign.Inputs(how.graph, &given, "the sample", {}, false, &matches).status());
  for (const InputMatch& match : matches) {
    const double off = RelativeDifference(match.difference, inputs.at(match.input));
    if (match.equal || off <= kSameInput) continue;
    return Status::InvalidArgument(
        fmt::format("the {} ran on another input: '{}' differs by {:.3g} of its largest value from the sample's{}",
                    how.what, match.input, off, match.explanation.empty() ? "" : ": " + match.explanation));
  }
  const PairedBlobs& paired = is_golden ? *foreign.golden() : *foreign.subject();
  std::map<std::string, Tensor> outputs;
  for (const std::string& name : how.graph.outputs) {
    if (!paired.Has(name)) continue;
    PLUMB_ASSIGN_OR_RETURN(outputs[name], paired.Load(name));
    const Shape& expected = how.blobs.at(name).shape;
    if (outputs[name].shape() == expected) continue;
    return Status::InvalidArgument(fmt::format("network output '{}': expected {}, found {} in the {}", name,
                                               expected.ToString(), outputs[name].shape().ToString(), how.what));
  }
  if (!outputs.empty()) return outputs;
  return Status::InvalidArgument(
      fmt::format("the {} has none of the network outputs: '{}'", how.what, fmt::join(how.graph.outputs, "', '")));
}

Result<TensorSource> TensorsOfSample(const SampleDumps& dumps, const std::string& sample, int64_t batch) {
  PLUMB_ASSIGN_OR_RETURN(const DumpedSamples opened, DumpedSamples::Open("dump", dumps.path, batch));
  return opened.Find(sample);
}

}  // namespace plumb
