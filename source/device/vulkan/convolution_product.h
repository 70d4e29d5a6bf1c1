// SPDX-License-Identifier: Apache-2.0
// The launches of the convolution kernels in NC4HW4, which Winograd's products share: groups of whole quads of input
// and whole blocks of 8 output channels, from blocked weights.
#ifndef PLUMB_DEVICE_VULKAN_CONVOLUTION_PRODUCT_H_
#define PLUMB_DEVICE_VULKAN_CONVOLUTION_PRODUCT_H_

#include <string>

#include "device/shared/epilogue.h"
#include "device/vulkan/blocked_weights.h"
#include "device/vulkan/kernel_list.h"
#include "device/vulkan/shape_choice.h"

namespace plumb::vulkan {

struct ProductArguments {
  Argument output, input, addend, weight, bias;
  bool has_addend = false;
  Epilogue epilogue;
  std::string half;  // HalfSuffix of the output
};

// Weight and bias on the device, the others left out.
Result<ProductArguments> ProductConstants(Builder* b, const BlockedWeights& weights, Argument::View view);
// All of the layer's group.
Result<ProductArguments> LayerArguments(Builder* b, const ConvolutionShape& shape, KernelShape kernel);

// convolution_texel.comp, for drivers on a CPU.
LaunchSpec TexelConvolution(const ConvolutionShape& shape, const ProductArguments& arguments);
// convolution_tiled.comp, for GPUs.
LaunchSpec TiledConvolution(const ConvolutionShape& shape, const ProductArguments& arguments);

}  // namespace plumb::vulkan

#endif  // PLUMB_DEVICE_VULKAN_CONVOLUTION_PRODUCT_H_
