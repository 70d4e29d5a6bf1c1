// SPDX-License-Identifier: Apache-2.0
#include "device/vulkan/convolution_product.h"

#include <algorithm>

#include "device/vulkan/channel4_layout.h"

namespace plumb::vulkan {

Result<ProductArguments> ProductConstants(Builder* b, const BlockedWeights& weights, Argument::View view) {
  ProductArguments arguments;
  const auto upload = [&](const std::vector<float>& values) {
    return b->Constant(values.data(), values.size() * sizeof(float), view);
  };
  PLUMB_ASSIGN_OR_RETURN(arguments.weight, upload(weights.weight));
  PLUMB_ASSIGN_OR_RETURN(arguments.bias, upload(weights.bias));
  return arguments;
}

Result<ProductArguments> LayerArguments(Builder* b, const ConvolutionShape& shape, KernelShape kernel) {
  PLUMB_ASSIGN_OR_RETURN(const FusedGroup group, ReadGroup(b->spec.group.members, *b->spec.blobs));
  PLUMB_ASSIGN_OR_RETURN(const BlockedWeights weights, BlockWeights(b->layer(), shape, group.affine));
  const bool texels = kernel == KernelShape::kCpu;
  const Argument::View view = texels ? TexelsOf(b->inputs[0].layout) : Argument::kStorage;
  PLUMB_ASSIGN_OR_RETURN(ProductArguments arguments,
                         ProductConstants(b, weights, texels ? Argument::kTexelsF32x4 : Argument::kStorage));
  const int addend = group.AddendInput(b->spec.group);
  arguments.output = Argument::Output(0);
  arguments.input = Argument::Input(0, view);
  arguments.addend = Argument::Input(std::max(addend, 0), view);
  arguments.has_addend = addend >= 0;
  arguments.epilogue = group.epilogue;
  arguments.half = HalfSuffix(b->outputs[0].layout);
  return arguments;
}

}  // namespace plumb::vulkan
