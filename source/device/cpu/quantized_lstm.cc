// SPDX-License-Identifier: Apache-2.0
// PlumbQuantizedLSTM by its definition (op/quantized_lstm.h), which leaves a kernel no choice.
#include "op/quantized_lstm.h"

#include "device/cpu/function_kernel.h"

namespace plumb::cpu {
namespace {

Status QuantizedLstm(const Layer& layer, const std::vector<DeviceTensor>& in, const std::vector<DeviceTensor>& out) {
  std::vector<Tensor> views;
  for (const DeviceTensor& tensor : in) views.push_back(ViewOf(tensor));
  std::vector<const Tensor*> inputs;
  for (const Tensor& view : views) inputs.push_back(&view);
  return ComputeQuantizedLstm(layer, inputs, nullptr, out[0].host<int64_t>());
}

}  // namespace

const KernelFunctions kernel_quantized_lstm = FunctionKernelOf<QuantizedLstm, Takes::kNumbers>();

}  // namespace plumb::cpu
