// SPDX-License-Identifier: Apache-2.0
// What the sums of products of this device have in common: the epilogue as a shader's constants.
#ifndef PLUMB_DEVICE_VULKAN_PRODUCTS_H_
#define PLUMB_DEVICE_VULKAN_PRODUCTS_H_

#include <cmath>

#include "device/shared/folded_weights.h"
#include "device/vulkan/launch.h"
#include "op/convolution.h"

namespace plumb::vulkan {

// include/activation.glslh's number of the activation.
inline uint32_t ActivationCode(const Epilogue& epilogue) {
  switch (epilogue.kind) {
    case Epilogue::Kind::kRelu: return 1;
    case Epilogue::Kind::kClip: return 2;
    case Epilogue::Kind::kLeakyRelu: return 3;
    case Epilogue::Kind::kSwish: return 4;
    default: return 0;
  }
}

// slope, low, high of Activate4.
inline void PushActivation4(const Epilogue& epilogue, Words* push) {
  const bool clip = epilogue.kind == Epilogue::Kind::kClip, relu = epilogue.kind == Epilogue::Kind::kRelu;
  push->Float(epilogue.kind == Epilogue::Kind::kLeakyRelu ? epilogue.alpha : 1.0f);
  push->Float(clip ? epilogue.alpha : relu ? 0.0f : -INFINITY).Float(clip ? epilogue.beta : INFINITY);
}

// For Convolution, Convolution1D and Deconvolution layers.
Result<ConvolutionShape> ResolveAny(const Layer& layer, const Shape& input);
// Weights and bias with the group's constant scales and shifts in them; the bias is always there.
Result<Folded> FoldedWeights(const Layer& layer, const ConvolutionShape& shape, const ChannelAffine& affine);

}  // namespace plumb::vulkan

#endif  // PLUMB_DEVICE_VULKAN_PRODUCTS_H_
