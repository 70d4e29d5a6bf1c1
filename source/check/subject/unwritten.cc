// SPDX-License-Identifier: Apache-2.0
#include "check/subject/unwritten.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "check/core/coverage.h"
#include "check/subject/overwritten.h"
#include "op/core/op.h"
#include "plumb/model.h"

namespace plumb {
namespace {

// The bits of an f32 constant in ascending order: the same of every transposition of it.
std::vector<uint32_t> SortedBits(const Tensor& tensor) {
  std::vector<uint32_t> bits(static_cast<size_t>(tensor.NumElements()));
  std::memcpy(bits.data(), tensor.raw(), bits.size() * sizeof(uint32_t));
  std::sort(bits.begin(), bits.end());
  return bits;
}

class ReadersOfConstants {
 public:
  ReadersOfConstants(const Graph& graph, const ImportRecord& record) : graph_(graph), record_(record) {}

  // Layers that read the constant, moved or not, as an input or as their weights.
  std::vector<std::string> Of(const std::string& constant) const {
    std::set<std::string> moved = {constant};
    for (const Layer& layer : record_.folded.layers) {
      const bool reads = !layer.inputs.empty() && moved.count(layer.inputs[0]) != 0;
      if (reads && GetOp(layer.kind).moves_data_only) moved.insert(layer.outputs.begin(), layer.outputs.end());
    }
    const Tensor& value = record_.folded.constants.at(constant);
    const std::vector<uint32_t> bits = SortedBits(value);
    std::vector<std::string> readers;
    for (const Layer& layer : graph_.layers) {
      bool reads = std::any_of(layer.inputs.begin(), layer.inputs.end(),
                               [&](const std::string& blob) { return moved.count(blob) != 0; });
      for (const auto& [slot, weight] : layer.resources) {
        const bool alike = weight.dtype() == DType::kF32 && weight.NumElements() == value.NumElements();
        reads = reads || (alike && SortedBits(weight) == bits);
      }
      if (reads) readers.push_back(layer.name);
    }
    return readers;
  }

 private:
  const Graph& graph_;
  const ImportRecord& record_;
};

// Wrong floats that the model knows while it is loaded.
std::set<std::string> WrongConstants(const RunReport& report, const ImportRecord& record) {
  std::set<std::string> blobs;
  for (const LayerReport& layer : report.layers) {
    const bool known = layer.step.index < 0 && layer.outputs.size() == 1;
    if (!known || layer.verdict != Verdict::kWrong || layer.outputs[0].dtype != DType::kF32) continue;
    const auto constant = record.folded.constants.find(layer.outputs[0].blob);
    const bool floats = constant != record.folded.constants.end() && constant->second.dtype() == DType::kF32;
    if (floats) blobs.insert(layer.outputs[0].blob);
  }
  return blobs;
}

// Whether all steps of these layers, one at least, are aligned.
bool AllAligned(const std::vector<std::string>& layers, const RunReport& report) {
  for (const std::string& name : layers) {
    const auto step = std::find_if(report.layers.begin(), report.layers.end(),
                                   [&](const LayerReport& layer) { return HoldsLayer(layer.step, name); });
    if (step == report.layers.end() || step->verdict != Verdict::kAligned) return false;
  }
  return !layers.empty();
}

LayerReport NotTested(LayerReport layer) {
  layer.reason = fmt::format(
      "the dump of '{}' is no constant of the model, and every layer that reads it is aligned with the model's: the "
      "runtime never wrote this tensor",
      layer.outputs[0].blob);
  layer.verdict = Verdict::kNotTested;
  layer.cause.clear();
  layer.outputs.clear();
  layer.values = 0;
  return layer;
}

}  // namespace

Result<RunReport> LeaveOutUnwritten(const Graph& graph, const BlobSource& subject,
                                    const std::map<std::string, Tensor>& inputs, const SubjectOptions& options,
                                    RunReport report, std::set<std::string>* left_out) {
  if (options.check.record == nullptr) return report;
  const std::set<std::string> suspects = WrongConstants(report, *options.check.record);
  if (suspects.empty()) return report;
  const auto judge = [&](const std::set<std::string>& hidden) {
    return CheckSubjectBlobs(graph, SubjectWithout(subject, hidden), inputs, options);
  };
  PLUMB_ASSIGN_OR_RETURN(RunReport without, judge(suspects));
  const ReadersOfConstants readers(graph, *options.check.record);
  std::set<std::string> unwritten;
  for (const std::string& blob : suspects) {
    if (AllAligned(readers.Of(blob), without)) unwritten.insert(blob);
  }
  if (unwritten.empty()) return report;
  if (unwritten.size() < suspects.size()) {
    PLUMB_ASSIGN_OR_RETURN(without, judge(unwritten));
  }
  std::vector<LayerReport> layers;
  for (LayerReport& layer : report.layers) {
    if (layer.outputs.size() == 1 && unwritten.count(layer.outputs[0].blob) != 0)
      layers.push_back(NotTested(std::move(layer)));
  }
  layers.insert(layers.end(), std::make_move_iterator(without.layers.begin()),
                std::make_move_iterator(without.layers.end()));
  without.layers = std::move(layers);
  without.notes.push_back(
      fmt::format("{} constant{} of the model the runtime hands out without having written {}: not tested",
                  unwritten.size(), unwritten.size() == 1 ? "" : "s", unwritten.size() == 1 ? "it" : "them"));
  ConcludeRun(graph.outputs, options.check.min_tested, &without);
  *left_out = std::move(unwritten);
  return without;
}

}  // namespace plumb
