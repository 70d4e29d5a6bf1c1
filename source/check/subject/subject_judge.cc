// SPDX-License-Identifier: Apache-2.0
#include "check/subject/subject_judge.h"

#include <algorithm>

#include "check/core/coverage.h"
#include "check/numbers/arithmetic.h"
#include "check/numbers/int8.h"
#include "check/numbers/stored_half.h"
#include "check/walk/answer_effects.h"
#include "graph/resources.h"

namespace plumb {
namespace {

// The reference replays with the weights that the subject has.
Result<Graph> WithStoredWeights(const Graph& graph, const StorageOfBlob& storage) {
  Graph stored = graph;
  for (Layer& layer : stored.layers) {
    const DType format = storage(layer.outputs[0]);
    if (format == DType::kF32) continue;
    for (auto& [slot, weight] : layer.resources) {
      PLUMB_ASSIGN_OR_RETURN(weight, RoundedTo(format, weight));
    }
  }
  return stored;
}

// The batch normalisation that alone reads the layer's output, which the subject has not; null: there is none.
const Layer* FoldedNorm(const Graph& graph, const Layer& layer, const BlobSource& subject) {
  const std::string& blob = layer.outputs[0];
  const auto& outputs = graph.outputs;
  if (subject.Has(blob) || std::find(outputs.begin(), outputs.end(), blob) != outputs.end()) return nullptr;
  const Layer* reader = nullptr;
  for (const Layer& other : graph.layers) {
    if (std::find(other.inputs.begin(), other.inputs.end(), blob) == other.inputs.end()) continue;
    if (reader != nullptr) return nullptr;
    reader = &other;
  }
  return reader != nullptr && reader->kind == OpKind::kBatchNormCxx ? reader : nullptr;
}

// The weights of layers that are not judged stay as they are.
void LeaveOutOthers(const Look& look, const Graph& graph, std::vector<RoundedLayer>* layers) {
  std::set<int> judged;  // by index
  for (const auto& [blob, report] : look.earlier) {
    if (look.steps->count(blob) == 0) continue;
    for (const MemberInfo& member : report->step.members) judged.insert(member.index);
  }
  for (size_t i = 0; i < layers->size(); ++i)
    (*layers)[i].rounded = (*layers)[i].rounded && judged.count(graph.layers[i].index) != 0;
}

// What a pass over some steps cannot tell.
void KeepInherited(const LayerReport& earlier, LayerReport* layer) {
  for (OutputReport& output : layer->outputs) {
    for (const OutputReport& before : earlier.outputs) {
      if (before.blob != output.blob || output.inherited.count > 0) continue;
      output.inherited = before.inherited;
      output.total = before.total;
    }
  }
}

}  // namespace

SomeSteps StepsThat(const RunReport& report, const std::function<bool(const LayerReport& layer)>& are) {
  SomeSteps steps;
  for (const LayerReport& layer : report.layers) {
    if (are(layer)) steps.insert(layer.step.outputs[0].blob);
  }
  return steps;
}

Result<SubjectJudge::Grids> SubjectJudge::FindGrids() const {
  Grids grids;
  std::set<std::string>& floats = grids.floats;
  std::map<std::string, double> steps;  // of grids that are sure
  const auto note = [&](const std::string& blob) -> Status {
    if (!subject_.Has(blob)) return Status::Ok();
    PLUMB_ASSIGN_OR_RETURN(const Tensor value, subject_.Load(blob));
    const Grid grid = FindGrid(value);
    if (value.dtype() == DType::kF32 && grid.none() && !grid.few) floats.insert(blob);
    if (!grid.few) steps[blob] = grid.step;
    return Status::Ok();
  };
  for (const GraphInput& input : graph_.inputs) {
    PLUMB_RETURN_IF_ERROR(note(input.name));
    if (!subject_.Has(input.name)) floats.insert(input.name);
  }
  for (const Layer& layer : graph_.layers) {
    bool any = false;
    for (const std::string& blob : layer.outputs) {
      PLUMB_RETURN_IF_ERROR(note(blob));
      any = any || floats.count(blob) == 0;
    }
    for (const std::string& blob : layer.inputs)
      any = any || (graph_.constants.count(blob) == 0 && floats.count(blob) == 0);
    grids.layers.push_back({any, IsProduct(layer) ? FoldedNorm(graph_, layer, subject_) : nullptr,
                            layer.inputs.empty() ? 0 : steps[layer.inputs[0]]});
  }
  return grids;
}

Result<RunReport> SubjectJudge::JudgeInt8(const SubjectOptions& options, const Look& look) {
  if (!grids_) {
    PLUMB_ASSIGN_OR_RETURN(grids_, FindGrids());
  }
  Graph stored = graph_;
  std::vector<RoundedLayer> layers = grids_->layers;
  if (look.steps != nullptr) LeaveOutOthers(look, graph_, &layers);
  PLUMB_ASSIGN_OR_RETURN(const TiedWeights ties, RoundWeights(options.check.int8_weights, layers, &stored));
  Look with_ties = look;
  with_ties.ties = &ties;
  const auto storage = [this](const std::string& blob) {
    return grids_->floats.count(blob) == 0 ? DType::kI8 : DType::kF32;
  };
  return RunPass(stored, subject_, inputs_, options, storage, with_ties);
}

Result<HalfStorage> SubjectJudge::HalfStorageIn(DType format, const BlobTable& blobs) {
  if (!halves_) {
    std::map<std::string, HalfValues> values;
    for (const auto& [blob, info] : blobs) {
      if (info.dtype != DType::kF32 || !info.value.empty() || !subject_.Has(blob)) continue;
      PLUMB_ASSIGN_OR_RETURN(const Tensor value, subject_.Load(blob));
      if (value.dtype() == DType::kF32) values[blob] = HalfValuesOf(value);
    }
    halves_ = HalfStorage::Find(graph_, values);
  }
  return halves_->format() == format ? *halves_ : HalfStorage::Everywhere(format);
}

Result<RunReport> SubjectJudge::Judge(const SubjectOptions& options, const Look& look) {
  // A subject of another size, or in another layout than declared, may not fit the weights, and kernels trust them.
  Graph checked = graph_;
  PLUMB_ASSIGN_OR_RETURN(const BlobTable blobs, InferShapes(checked, options.input_shapes));
  PLUMB_RETURN_IF_ERROR(CheckResources(blobs, &checked));
  const NumericModel& model = ModelOf(options.check.arithmetic);
  if (model.blobs == DType::kI8) return JudgeInt8(options, look);
  HalfStorage half;
  if (model.is_half()) {
    PLUMB_ASSIGN_OR_RETURN(half, HalfStorageIn(model.blobs, blobs));
  }
  const auto storage = [&half](const std::string& blob) { return half.Of(blob); };
  if (model.weights == DType::kF32) return RunPass(graph_, subject_, inputs_, options, storage, look);
  PLUMB_ASSIGN_OR_RETURN(const Graph stored, WithStoredWeights(graph_, storage));
  return RunPass(stored, subject_, inputs_, options, storage, look);
}

Result<RunReport> SubjectJudge::Again(const SubjectOptions& options, RunReport earlier, const SomeSteps& steps,
                                      const Ends& ends) {
  Look look{&steps, {}, ends};
  for (const LayerReport& layer : earlier.layers) look.earlier[layer.step.outputs[0].blob] = &layer;
  PLUMB_ASSIGN_OR_RETURN(RunReport again, Judge(options, look));
  for (LayerReport& layer : again.layers) {
    const auto before = look.earlier.find(layer.step.outputs[0].blob);
    if (before != look.earlier.end()) KeepInherited(*before->second, &layer);
  }
  earlier.layers = std::move(again.layers);
  earlier.found_arithmetic = again.found_arithmetic;
  earlier.found_because = std::move(again.found_because);
  earlier.computed_as = std::move(again.computed_as);
  SettleEffects(&earlier);
  ConcludeRun(graph_.outputs, options.check.min_tested, &earlier);
  return earlier;
}

Result<RunReport> CheckSubjectBlobs(const Graph& graph, const BlobSource& subject,
                                    const std::map<std::string, Tensor>& inputs, const SubjectOptions& options) {
  PLUMB_ASSIGN_OR_RETURN(RunReport report, SubjectJudge(graph, subject, inputs).All(options));
  PLUMB_RETURN_IF_ERROR(KeepNamedLayers(options.check.layers, graph.outputs, options.check.min_tested, &report));
  return report;
}

}  // namespace plumb
