#include "check/judge/stored_output.h"

#include <algorithm>

#include "check/judge/stored_half.h"

namespace plumb {
namespace {

bool IsConvolution(const Layer* layer) {
  return layer->kind == OpKind::kConvolution || layer->kind == OpKind::kConvolution1D;
}

}  // namespace

Result<StoredOutput> StoredOutput::Take(const PortInfo& port, const Tensor& device, Tensor* reference, Tensor* tau) {
  StoredOutput stored;
  stored.half_ = (port.stored == DType::kF16 || port.stored == DType::kBF16) && port.dtype == DType::kF32;
  stored.on_grid_ = port.stored == DType::kI8 && device.dtype() == DType::kF32;
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
