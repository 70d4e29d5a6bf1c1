// SPDX-License-Identifier: Apache-2.0
#include "check/walk/rounding_reach.h"

#include <algorithm>
#include <cmath>

#include "check/core/inspect.h"
#include "check/judge/own_run.h"
#include "device/grouped_step.h"

namespace plumb {
namespace {

// Half a step between numbers of the format, relative.
double HalfStep(DType stored) { return stored == DType::kF16 ? 0x1p-12 : stored == DType::kBF16 ? 0x1p-9 : 0; }

Status Move(const Tensor* tau, DType stored, uint64_t turn, uint64_t blob, Tensor* value) {
  if (value->dtype() != DType::kF64) return Status::Ok();
  PLUMB_ASSIGN_OR_RETURN(*value, value->Clone());
  double* values = value->data<double>();
  for (int64_t i = 0; i < value->NumElements(); ++i) {
    const double bound = tau == nullptr ? 0 : tau->ValueAt(i) / 8;
    const double off = std::max(std::isfinite(bound) ? bound : 0, HalfStep(stored) * std::fabs(values[i]));
    if (off > 0 && std::isfinite(off)) values[i] += SignByChance(turn, blob, static_cast<uint64_t>(i)) * off;
  }
  return Status::Ok();
}

// By the bound of how the step says that it computes; without one where errors cannot be followed.
Result<ReplayResult> ReplayOf(const Scene& scene, const StepInfo& step, const std::vector<Tensor>& inputs) {
  const LayerGroup& group = GroupOf(step);
  Arithmetic arithmetic = ArithmeticFor(group, *scene.model);
  ReplayExtra extra;
  UseNumerics(step.numerics, &arithmetic, &extra);
  if (scene.earlier) UseOtherProducts(group, *scene.model, &arithmetic, &extra);
  auto replay = ReplayWithBound(group, inputs, *scene.blobs, arithmetic, 0, extra);
  return replay.ok() ? std::move(replay) : ReplayValues(group, inputs, *scene.blobs);
}

Result<std::vector<Tensor>> ConstantsOf(const LayerGroup& group, const BlobTable& blobs) {
  std::vector<Tensor> constants(group.inputs.size());
  for (size_t i = 0; i < constants.size(); ++i) {
    const Tensor& value = blobs.at(group.inputs[i].blob).value;
    if (value.empty()) continue;
    PLUMB_ASSIGN_OR_RETURN(constants[i], Widened(value));
  }
  return constants;
}

}  // namespace

double SignByChance(uint64_t turn, uint64_t blob, uint64_t i) {
  uint64_t bits = (turn << 48) ^ (blob << 40) ^ i;
  bits = (bits + 0x9e3779b97f4a7c15ull) * 0xbf58476d1ce4e5b9ull;
  bits = (bits ^ (bits >> 29)) * 0x94d049bb133111ebull;
  return bits >> 63 == 0 ? 1 : -1;
}

Result<std::map<std::string, Tensor>> MovedByRounding(const Scene& scene, const std::map<std::string, Tensor>& inputs,
                                                      uint64_t turn) {
  OwnRun run;
  PLUMB_RETURN_IF_ERROR(run.SetInputs(inputs));
  std::map<std::string, int> readers;
  for (const StepInfo* step : scene.steps) {
    for (const PortInfo& port : step->inputs) ++readers[port.blob];
  }
  for (const std::string& output : scene.graph->outputs) ++readers[output];
  uint64_t blob = 0;
  for (const StepInfo* step : scene.steps) {
    const LayerGroup& group = GroupOf(*step);
    PLUMB_ASSIGN_OR_RETURN(const std::vector<Tensor> constants, ConstantsOf(group, *scene.blobs));
    const std::vector<Tensor> read = run.InputsOf(group, *scene.blobs, constants);
    if (read.size() != group.inputs.size()) return Status::NotFound("an input of '" + step->name + "'");
    PLUMB_ASSIGN_OR_RETURN(ReplayResult replay, ReplayOf(scene, *step, read));
    for (size_t i = 0; i < replay.values.size(); ++i) {
      const DType stored = step->outputs[i].stored;
      if (stored == DType::kI8) return Status::NotSupported("blobs on grids");
      const Tensor* tau = i < replay.tau.size() ? &replay.tau[i] : nullptr;
      PLUMB_RETURN_IF_ERROR(Move(tau, stored, turn, ++blob, &replay.values[i]));
    }
    run.Take(group, replay.values);
    for (const PortInfo& port : step->inputs) {
      if (--readers[port.blob] == 0) run.Release(port.blob);
    }
  }
  std::map<std::string, Tensor> outputs;
  for (const std::string& name : scene.graph->outputs) {
    const Tensor* value = run.Find(name);
    if (value != nullptr) outputs[name] = *value;
  }
  return outputs;
}

std::map<std::string, double> ReachOfOutputs(const Scene& scene, const std::map<std::string, Tensor>& inputs,
                                             const std::vector<OutputSummary>& outputs) {
  constexpr uint64_t kTurns = 2;
  std::map<std::string, double> squares;
  for (uint64_t turn = 0; turn < kTurns; ++turn) {
    const auto moved = MovedByRounding(scene, inputs, turn);
    if (!moved.ok()) return {};
    for (const OutputSummary& output : outputs) {
      const auto found = moved->find(output.name);
      if (found == moved->end() || output.reference.shape() != found->second.shape()) continue;
      const int64_t values = output.reference.NumElements();
      for (int64_t i = 0; i < values; ++i) {
        const double off = found->second.ValueAt(i) - output.reference.ValueAt(i);
        squares[output.name] += off * off / static_cast<double>(values * static_cast<int64_t>(kTurns));
      }
    }
  }
  for (auto& [name, square] : squares) square = kReachOfPair * std::sqrt(square);
  return squares;
}

}  // namespace plumb
