// ConstantOfShape and Range: made once, when the kernel is prepared, and copied at each Forward.
#include "device/shared/fill.h"

#include "device/vulkan/copy.h"

namespace plumb::vulkan {
namespace {

Status SupportsOfFill(const KernelSpec& spec) {
  PLUMB_RETURN_IF_ERROR(SupportsFill(spec));
  return RequireDType(spec, spec.outputs[0].dtype);
}

Status BuildFill(Builder* b) {
  PLUMB_ASSIGN_OR_RETURN(const Tensor made, MakeFill(b->spec));
  PLUMB_ASSIGN_OR_RETURN(const Argument constant, b->Constant(made));
  b->launches.push_back(CopyAllSpec(made.dtype(), Argument::Output(0), constant, made.NumElements()));
  return Status::Ok();
}

}  // namespace

const KernelFunctions kernel_fill = {SupportsOfFill, BuildFill};

}  // namespace plumb::vulkan
