// SPDX-License-Identifier: Apache-2.0
// A convolution's or deconvolution's facts as kernels take them (Conv of conv.clh), and its group resolved.
#ifndef PLUMB_DEVICE_OPENCL_CONVOLUTION_GROUP_H_
#define PLUMB_DEVICE_OPENCL_CONVOLUTION_GROUP_H_

#include "device/opencl/epilogue.h"
#include "device/opencl/kernel_list.h"
#include "device/shared/folded_weights.h"
#include "device/shared/fused_tail.h"
#include "op/deconvolution.h"

namespace plumb::opencl {

struct ConvArg {
  int batch = 1, group = 1, in_channels = 1, out_channels = 1;
  int in_h = 1, in_w = 1, out_h = 1, out_w = 1, kernel_h = 1, kernel_w = 1, stride_h = 1, stride_w = 1, dilation_h = 1,
      dilation_w = 1;
  int pad_top = 0, pad_left = 0;

  ConvArg() = default;
  explicit ConvArg(const ConvolutionShape& s);
};

// Everything about the group of a convolution or deconvolution.
struct ConvGroup {
  ConvolutionShape shape;
  FusedGroup fused;
  int addend = -1;  // among the group's inputs
  bool transposed = false;

  static Result<ConvGroup> Of(const KernelSpec& spec);
  WeightStrides strides() const;
  // The addend may be overwritten by the output unless it is the convolution's own input.
  void WishForAddend(const KernelSpec& spec, LayoutChoice* choice) const;
};

// What follows the sums of a convolution in channel blocks, as its kernels take it: bias, addend, activation.
struct ConvTail {
  int addend = -1;  // among the kernel's inputs
  int flags = 0;    // 1 bias, 2 addend
  Array bias;       // padded with zeros to `channels`
  EpilogueArg epilogue;
  TailZero zero;

  Status Prepare(const KernelSpec& spec, const ConvGroup& group, const Folded& folded, int64_t channels,
                 const DeviceTensor& output);
  const DeviceTensor& AddendOf(const std::vector<DeviceTensor>& inputs) const {
    return inputs[static_cast<size_t>(addend < 0 ? 0 : addend)];
  }
};

}  // namespace plumb::opencl

#endif  // PLUMB_DEVICE_OPENCL_CONVOLUTION_GROUP_H_
