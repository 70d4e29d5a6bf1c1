// SPDX-License-Identifier: Apache-2.0
#include "names/trace.h"

#include <algorithm>

#include "op/core/strided.h"
#include "op/pad.h"
#include "plumb/plumb.h"

namespace plumb {
namespace {

// Of Pad: whether what it adds is nothing, or elements of its own.
bool PadsWithZeros(const TracedLayer& traced) {
  const auto pad = ResolvePad(traced.layer, traced.infos);
  return pad.ok() && (pad->mode != kPadConst || pad->value == 0);
}

// Concat of operands with one scale keeps it.
Result<std::vector<Cells>> JoinCells(const TracedLayer& traced) {
  const double scale = traced.inputs[0].scale;
  const bool same = std::all_of(traced.inputs.begin(), traced.inputs.end(), [&](const Cells& x) {
    return traced.constants->Number(x.scale) == traced.constants->Number(scale);
  });
  std::vector<Cells> parts = traced.inputs;
  for (Cells& part : parts) {
    if (same) continue;
    PLUMB_ASSIGN_OR_RETURN(part, Baked(part, traced.constants));
  }
  Cells out;
  out.scale = same ? scale : 1;
  PLUMB_ASSIGN_OR_RETURN(out.cells, NewCells(traced.outputs[0].shape));
  std::vector<const Tensor*> inputs;
  for (const Cells& part : parts) inputs.push_back(&part.cells);
  PLUMB_RETURN_IF_ERROR(ReferenceEvaluator()(traced.layer, inputs, {&out.cells}));
  return std::vector<Cells>{out};
}

// Operators that only move elements move cells; nothing: it is none, or where they go depends on what is computed.
Result<std::vector<Cells>> MoveCells(const TracedLayer& traced) {
  const OpDef& op = GetOp(traced.layer.kind);
  std::vector<Cells> outputs;
  if (op.map != nullptr) {
    for (size_t i = 0; i < traced.outputs.size(); ++i) {
      PLUMB_ASSIGN_OR_RETURN(StridedMap map, op.map(traced.layer, traced.infos, static_cast<int>(i)));
      map.Simplify();
      Cells out = traced.inputs[0];
      PLUMB_ASSIGN_OR_RETURN(out.cells, ApplyMap(map, traced.inputs[0].cells));
      outputs.push_back(out);
    }
    return outputs;
  }
  if (traced.layer.kind == OpKind::kConcat) return JoinCells(traced);
  const bool pads = traced.layer.kind == OpKind::kPad || traced.layer.kind == OpKind::kPadV2;
  const bool moves = traced.layer.kind == OpKind::kReshape || traced.layer.kind == OpKind::kGather ||
                     traced.layer.kind == OpKind::kPlumbGatherElements || (pads && PadsWithZeros(traced));
  const bool known = std::all_of(traced.infos.begin() + 1, traced.infos.end(),
                                 [](const BlobInfo& info) { return !info.value.empty(); });
  if (!moves || !known || traced.layer.Resource("data") != nullptr) return outputs;
  std::vector<const Tensor*> inputs = {&traced.inputs[0].cells};
  for (size_t i = 1; i < traced.infos.size(); ++i) inputs.push_back(&traced.infos[i].value);
  Cells out = traced.inputs[0];
  PLUMB_ASSIGN_OR_RETURN(out.cells, NewCells(traced.outputs[0].shape));
  PLUMB_RETURN_IF_ERROR(ReferenceEvaluator()(traced.layer, inputs, {&out.cells}));
  outputs.push_back(out);
  return outputs;
}

Result<std::vector<Cells>> TraceLayer(const TracedLayer& traced) {
  for (const auto way : {MoveCells, TraceElements, TraceProducts, TraceRows}) {
    PLUMB_ASSIGN_OR_RETURN(std::vector<Cells> outputs, way(traced));
    if (!outputs.empty()) return outputs;
  }
  return TraceWhole(traced);
}

}  // namespace

Result<Cells> NameTrace::Of(const std::string& blob) {
  const auto found = cells_.find(blob);
  if (found != cells_.end()) return found->second;
  const auto info = table_.find(blob);
  if (info == table_.end() || info->second.value.empty())
    return Status::Internal("a blob is read before it is traced: " + blob);
  return constants_->CellsOf(info->second.value);
}

Status NameTrace::Step(const Layer& layer, const std::map<std::string, Cells>& given) {
  TracedLayer traced = {layer, {}, {}, {}, constants_};
  for (const std::string& output : layer.outputs) traced.outputs.push_back(table_.at(output));
  const bool replaced = std::all_of(layer.outputs.begin(), layer.outputs.end(),
                                    [&](const std::string& output) { return given.count(output) > 0; });
  std::vector<Cells> made(layer.outputs.size());
  if (!replaced) {
    for (const std::string& input : layer.inputs) {
      PLUMB_ASSIGN_OR_RETURN(Cells cells, Of(input));
      traced.inputs.push_back(std::move(cells));
      traced.infos.push_back(table_.at(input));
    }
    PLUMB_ASSIGN_OR_RETURN(made, TraceLayer(traced));
  }
  for (size_t i = 0; i < layer.outputs.size(); ++i) {
    const auto other = given.find(layer.outputs[i]);
    Cells& cells = cells_[layer.outputs[i]];
    cells = other == given.end() ? made[i] : other->second;
    if (cells.count() != traced.outputs[i].shape.NumElements())
      return Status::Internal("a blob has other cells than elements: " + layer.outputs[i]);
    PLUMB_ASSIGN_OR_RETURN(cells.cells, cells.cells.Reshaped(traced.outputs[i].shape));
    marks_[layer.outputs[i]] = MarkOfCells(cells, constants_);
  }
  return Status::Ok();
}

Status NameTrace::Run(const std::map<std::string, Cells>& given, const std::set<std::string>& keep) {
  std::map<std::string, size_t> last;  // reader
  for (size_t i = 0; i < graph_.layers.size(); ++i) {
    for (const std::string& input : graph_.layers[i].inputs) last[input] = i;
    for (const std::string& output : graph_.layers[i].outputs) last.emplace(output, i);
  }
  for (const GraphInput& input : graph_.inputs) {
    const auto cells = given.find(input.name);
    if (cells == given.end()) return Status::Internal("a network input has no cells: " + input.name);
    cells_[input.name] = cells->second;
    marks_[input.name] = MarkOfCells(cells->second, constants_);
  }
  for (size_t i = 0; i < graph_.layers.size(); ++i) {
    const Layer& layer = graph_.layers[i];
    PLUMB_RETURN_IF_ERROR(Step(layer, given).AddContext("tracing '" + layer.name + "'"));
    for (const auto* blobs : {&layer.inputs, &layer.outputs}) {
      for (const std::string& blob : *blobs) {
        if (last[blob] == i && keep.count(blob) == 0) cells_.erase(blob);
      }
    }
  }
  return Status::Ok();
}

}  // namespace plumb
