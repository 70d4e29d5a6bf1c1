// SPDX-License-Identifier: Apache-2.0
#include "check/judge/stored_output.h"

#include <algorithm>
#include <cmath>

#include "check/judge/one_sided.h"
#include "check/numbers/stored_half.h"
#include "check/numbers/telling.h"

namespace plumb {
namespace {

bool IsConvolution(const Layer* layer) {
  return layer->kind == OpKind::kConvolution || layer->kind == OpKind::kConvolution1D;
}

bool AreWhole(const Tensor& tensor) {
  const float* x = tensor.data<float>();
  return std::all_of(x, x + tensor.NumElements(), [](float v) { return v == std::nearbyint(v); });
}

// One operator that every kernel rounds once.
bool RoundsOnceAnywhere(const LayerGroup& group) {
  if (group.members.size() != 1) return false;
  const OpKind kind = group.members[0]->kind;
  return kind == OpKind::kAdd || kind == OpKind::kSub || kind == OpKind::kMul || kind == OpKind::kBiasAdd;
}

bool IsExact(const Tensor& constant, DType storage) {
  if (!IsFloat(constant.dtype())) return true;
  const auto rounded = storage == DType::kI8 ? Result<Tensor>(Status::NotSupported("")) : RoundedTo(storage, constant);
  if (!rounded.ok()) return false;
  for (int64_t i = 0; i < constant.NumElements(); ++i) {
    if (rounded->ValueAt(i) != constant.ValueAt(i)) return false;
  }
  return true;
}

// Whether a step scales or shifts by constants that the storage cannot hold: a kernel may take them in f32, and values
// of few bits, times a factor next to one, then lie all on one side. A product's sums have so many values that none do.
bool HasInexactConstants(const LayerGroup& group, const BlobTable& blobs, DType storage) {
  for (const Layer* member : group.members) {
    if (IsProduct(*member)) return false;
  }
  for (const Layer* member : group.members) {
    for (const auto& [name, value] : member->resources) {
      if (!IsExact(value, storage)) return true;
    }
    for (const std::string& input : member->inputs) {
      const auto info = blobs.find(input);
      if (info != blobs.end() && !info->second.value.empty() && !IsExact(info->second.value, storage)) return true;
    }
  }
  return false;
}

}  // namespace

Result<StoredOutput> StoredOutput::Take(const LayerGroup& group, const PortInfo& port, const Tensor& device,
                                        Tensor* reference, Tensor* tau) {
  StoredOutput stored;
  stored.as_ = port.stored;
  stored.half_ = (port.stored == DType::kF16 || port.stored == DType::kBF16) && port.dtype == DType::kF32;
  // Whole numbers lie on a grid of step 1 because they are whole, and one step off is another number.
  const bool whole = std::any_of(group.members.begin(), group.members.end(), [&](const Layer* member) {
    return GivesWholeNumbers(*member) && member->outputs[0] == port.blob;
  });
  stored.on_grid_ = port.stored == DType::kI8 && device.dtype() == DType::kF32 && !(whole && AreWhole(device));
  if (stored.half_) PLUMB_RETURN_IF_ERROR(JudgeAsStored(port.stored, device, reference, tau));
  if (stored.on_grid_) {
    const bool sums = std::any_of(group.members.begin(), group.members.end(),
                                  [](const Layer* member) { return SumsProducts(*member); });
    PLUMB_ASSIGN_OR_RETURN(stored.grid_, JudgeOnGrid(device, !sums, reference, tau));
  }
  return stored;
}

bool StoredOutput::HasSlopeTest(const LayerGroup& group) const {
  if (on_grid_ || half_) return on_grid_;
  return IsConvolution(group.members.front()) &&
         std::count_if(group.members.begin(), group.members.end(), IsConvolution) == 1;
}

void StoredOutput::JudgeSides(const StepRecord& record, const BlobTable& blobs, const ReplayResult& replay, size_t i,
                              OutputReport* output) const {
  const Tensor &device = record.device[i], &reference = replay.values[i];
  constexpr double kMoreThanStoring =
      1;  // where it is more, something else is wrong, and moves values to one side, too
  if (device.dtype() != DType::kF32 || reference.dtype() != DType::kF64 || output->excess == 0) return;
  if (output->excess > kMoreThanStoring) return;
  Lattice lattice = LatticeOf(as_);
  if (on_grid_) {
    if (grid_.few || grid_.step == 0) return;  // f32, or a step that is not known
    lattice = {"the grid", 0, 0, 0, grid_.step, grid_.low, grid_.high};
  } else if (!half_) {
    constexpr double kNearest = 0.126;  // of tau: rounding once to nearest stays below
    if (as_ != DType::kF32 || !RoundsOnceAnywhere(record.group) || output->excess < kNearest) return;
    lattice.rounds_once = 8 * lattice.unit_roundoff * (1 + 1e-6);
  }
  if ((on_grid_ || half_) && HasInexactConstants(record.group, blobs, on_grid_ ? DType::kI8 : as_)) return;
  plumb::JudgeSides({device, reference, replay.tau[i], lattice}, output);
}

void StoredOutput::AddTo(OutputReport* output) const {
  if (on_grid_) grid_.AddTo(output);
}

}  // namespace plumb
