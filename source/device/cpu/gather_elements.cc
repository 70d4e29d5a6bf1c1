// SPDX-License-Identifier: Apache-2.0
// PlumbGatherElements in plain order.
#include "op/gather_elements.h"

#include "device/cpu/function_kernel.h"

namespace plumb::cpu {
namespace {

Status GatherElements(const Layer& layer, const std::vector<DeviceTensor>& in, const std::vector<DeviceTensor>& out) {
  PLUMB_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(ParamOf<GatherElementsParam>(layer).axis, in[0].shape.rank()));
  PLUMB_ASSIGN_OR_RETURN(const std::vector<int64_t> from, ElementsAlong(in[0].shape, axis, ViewOf(in[1])));
  return PickElements(from, in[0], out[0]);
}

}  // namespace

const KernelFunctions kernel_gather_elements = FunctionKernelOf<GatherElements, Takes::kAny>();

}  // namespace plumb::cpu
