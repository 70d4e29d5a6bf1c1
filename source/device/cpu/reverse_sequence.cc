// SPDX-License-Identifier: Apache-2.0
// PlumbReverseSequence in plain order.
#include "op/reverse_sequence.h"

#include "device/cpu/function_kernel.h"

namespace plumb::cpu {
namespace {

Status ReverseSequence(const Layer& layer, const std::vector<DeviceTensor>& in, const std::vector<DeviceTensor>& out) {
  PLUMB_ASSIGN_OR_RETURN(const std::vector<int64_t> from, ReversedElements(layer, in[0].shape, ViewOf(in[1])));
  return PickElements(from, in[0], out[0]);
}

}  // namespace

const KernelFunctions kernel_reverse_sequence = FunctionKernelOf<ReverseSequence, Takes::kAny>();

}  // namespace plumb::cpu
