// SPDX-License-Identifier: Apache-2.0
// A convolution's weights and bias with the constant scales and shifts behind it folded in (fused_tail.h).
#ifndef PLUMB_DEVICE_SHARED_FOLDED_WEIGHTS_H_
#define PLUMB_DEVICE_SHARED_FOLDED_WEIGHTS_H_

#include "device/shared/fused_tail.h"
#include "op/convolution.h"

namespace plumb {

struct Folded {
  Tensor weight, bias;  // f32; bias is empty() when there is none
};

// NotFound when the layer lacks its weights. Nothing is copied where there is nothing to fold.
Result<Folded> Fold(const Layer& layer, const ConvolutionShape& shape, const WeightStrides& strides,
                    const ChannelAffine& affine);

}  // namespace plumb

#endif  // PLUMB_DEVICE_SHARED_FOLDED_WEIGHTS_H_
