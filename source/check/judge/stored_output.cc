#include "check/judge/stored_output.h"

#include <algorithm>
#include <cmath>

#include "check/judge/stored_half.h"
#include "check/subject/telling.h"

namespace plumb {
namespace {

bool IsConvolution(const Layer* layer) {
  return layer->kind == OpKind::kConvolution || layer->kind == OpKind::kConvolution1D;
}

bool AreWhole(const Tensor& tensor) {
  const float* x = tensor.data<float>();
  return std::all_of(x, x + tensor.NumElements(), [](float v) { return v == std::nearbyint(v); });
}

}  // namespace

Result<StoredOutput> StoredOutput::Take(const LayerGroup& group, const PortInfo& port, const Tensor& device,
                                        Tensor* reference, Tensor* tau) {
  StoredOutput stored;
  stored.half_ = (port.stored == DType::kF16 || port.stored == DType::kBF16) && port.dtype == DType::kF32;
  // Whole numbers lie on a grid of step 1 because they are whole, and one step off is another number.
  const bool whole = std::any_of(group.members.begin(), group.members.end(), [&](const Layer* member) {
    return GivesWholeNumbers(*member) && member->outputs[0] == port.blob;
  });
  stored.on_grid_ = port.stored == DType::kI8 && device.dtype() == DType::kF32 && !(whole && AreWhole(device));
  if (stored.half_) PLUMB_RETURN_IF_ERROR(JudgeAsStored(port.stored, device, reference, tau));
  if (stored.on_grid_) {
    PLUMB_ASSIGN_OR_RETURN(stored.grid_, JudgeOnGrid(device, reference, tau));
  }
  return stored;
}

bool StoredOutput::HasSlopeTest(const LayerGroup& group) const {
  if (on_grid_ || half_) return on_grid_;
  return IsConvolution(group.members.front()) &&
         std::count_if(group.members.begin(), group.members.end(), IsConvolution) == 1;
}

void StoredOutput::AddTo(OutputReport* output) const {
  if (on_grid_) grid_.AddTo(output);
}

}  // namespace plumb
