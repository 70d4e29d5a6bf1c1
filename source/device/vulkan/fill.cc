// SPDX-License-Identifier: Apache-2.0
// Values that are known before the network runs (device/shared/fill.h): made once, when the kernel is prepared, and
// copied at each Forward.
#include "device/shared/fill.h"

#include "device/vulkan/copy.h"

namespace plumb::vulkan {
namespace {

Status SupportsOfFill(const KernelSpec& spec) {
  PLUMB_RETURN_IF_ERROR(SupportsFill(spec));
  for (const BlobInfo& out : spec.outputs) PLUMB_RETURN_IF_ERROR(RequireDType(spec, out.dtype));
  return Status::Ok();
}

Status BuildFill(Builder* b) {
  PLUMB_ASSIGN_OR_RETURN(const std::vector<Tensor> made, MakeFill(b->spec));
  for (size_t i = 0; i < made.size(); ++i) {
    if (made[i].NumElements() == 0) continue;
    PLUMB_ASSIGN_OR_RETURN(const Argument constant, b->Constant(made[i]));
    const Argument out = Argument::Output(static_cast<int>(i));
    b->launches.push_back(CopyAllSpec(made[i].dtype(), out, constant, made[i].NumElements()));
  }
  return Status::Ok();
}

}  // namespace

const KernelFunctions kernel_fill = {SupportsOfFill, BuildFill};

}  // namespace plumb::vulkan
