// SPDX-License-Identifier: Apache-2.0
#include "reference/sum/plan.h"

namespace plumb::reference {
namespace {

int64_t FloorMod(int64_t a, int64_t b) { return ((a % b) + b) % b; }

// Groups the tap offsets by their residue modulo the stride.
void FindResidues(AxisPlan* plan) {
  if (plan->taps.empty()) return;
  int64_t lowest = plan->taps[0].offset;
  for (const AxisTap& tap : plan->taps) lowest = std::min(lowest, tap.offset);
  for (AxisTap& tap : plan->taps) {
    const int64_t residue = lowest + (tap.offset - lowest) % plan->stride;
    tap.shift = (tap.offset - residue) / plan->stride;
    const auto found = std::find(plan->residues.begin(), plan->residues.end(), residue);
    tap.slot = found - plan->residues.begin();
    if (found == plan->residues.end()) plan->residues.push_back(residue);
    plan->max_shift = std::max(plan->max_shift, tap.shift);
  }
}

std::vector<AxisPlan> PlanAxis(const SumAxis& axis, bool transposed) {
  std::vector<AxisPlan> plans;
  const int64_t num_phases = transposed ? std::min(axis.stride, std::max<int64_t>(axis.out, 1)) : 1;
  for (int64_t phase = 0; phase < num_phases; ++phase) {
    AxisPlan plan;
    plan.in = axis.in;
    plan.first = phase;
    plan.step = transposed ? axis.stride : 1;
    plan.stride = transposed ? 1 : axis.stride;
    plan.out = transposed ? (axis.out - phase + axis.stride - 1) / axis.stride : axis.out;
    for (int64_t k = 0; k < axis.kernel; ++k) {
      if (!transposed) {
        plan.taps.push_back({k * axis.dilation - axis.pad, k});
        continue;
      }
      const int64_t distance = phase + axis.pad - k * axis.dilation;  // out + pad - k * dilation = input * stride
      if (FloorMod(distance, axis.stride) != 0) continue;
      plan.taps.push_back({distance / axis.stride, k});
    }
    FindResidues(&plan);
    plans.push_back(std::move(plan));
  }
  return plans;
}

}  // namespace

bool Phase::pointwise() const {
  if (taps() != 1) return false;
  for (int i = 1; i < 3; ++i) {
    const AxisPlan& a = axis[static_cast<size_t>(i)];
    if (a.stride != 1 || a.taps[0].offset != 0 || a.in != a.out || a.step != 1) return false;
  }
  return true;
}

std::vector<Phase> MakePhases(const SumGeometry& geometry) {
  std::vector<Phase> phases;
  for (const AxisPlan& depth : PlanAxis(geometry.axis[0], geometry.transposed)) {
    for (const AxisPlan& height : PlanAxis(geometry.axis[1], geometry.transposed)) {
      for (const AxisPlan& width : PlanAxis(geometry.axis[2], geometry.transposed)) {
        phases.push_back({{depth, height, width}});
      }
    }
  }
  return phases;
}

WeightLayout MakeWeightLayout(const SumGeometry& geometry) {
  const int64_t in = geometry.in_channels / geometry.groups;
  const int64_t out = geometry.out_channels / geometry.groups;
  const int64_t size = geometry.kernel_size();
  if (geometry.transposed) return {in * out * size, size, out * size};
  return {in * out * size, in * size, size};
}

}  // namespace plumb::reference
