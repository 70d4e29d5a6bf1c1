// SPDX-License-Identifier: Apache-2.0
#include "runtime/poison.h"

#include <cstring>

#include "runtime/plan.h"

namespace plumb {
namespace {

thread_local int poison_wanted = 0;  // how many of them live on this thread

bool Overlap(const DeviceTensor& a, const DeviceTensor& b) {
  return a.buffer == b.buffer && a.offset < b.offset + b.bytes() && b.offset < a.offset + a.bytes();
}

// All bits set: a NaN in each format of floats, -1 in integers.
Status FillWithNaN(const DeviceTensor& tensor, Device* device) {
  if (tensor.buffer == nullptr || tensor.bytes() == 0) return Status::Ok();
  if (tensor.buffer->host() != nullptr) {
    std::memset(tensor.host<char>(), 0xFF, tensor.bytes());
    return Status::Ok();
  }
  const int64_t count = static_cast<int64_t>(tensor.bytes() / sizeof(int32_t));
  PLUMB_ASSIGN_OR_RETURN(Tensor ones, Tensor::Create(DType::kI32, {count}));
  std::memset(ones.raw(), 0xFF, ones.bytes());
  PLUMB_RETURN_IF_ERROR(device->Finish());
  return device->Upload(ones, {DType::kI32, {count}, PlainLayout(), tensor.buffer, tensor.offset});
}

}  // namespace

PoisonedNetworks::PoisonedNetworks() { ++poison_wanted; }
PoisonedNetworks::~PoisonedNetworks() { --poison_wanted; }
bool PoisonedNetworks::Wanted() { return poison_wanted > 0; }

Status PoisonStep(const Step& step, Device* device) {
  const auto is_read = [&](const DeviceTensor& written) {
    for (const DeviceTensor& input : step.input_tensors) {
      if (Overlap(written, input)) return true;
    }
    return false;
  };
  for (const DeviceTensor& output : step.output_tensors) {
    if (!is_read(output)) PLUMB_RETURN_IF_ERROR(FillWithNaN(output, device));
  }
  return step.workspace >= 0 ? FillWithNaN(step.spec->workspace, device) : Status::Ok();
}

}  // namespace plumb
