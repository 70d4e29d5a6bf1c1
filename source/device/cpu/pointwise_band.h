// SPDX-License-Identifier: Apache-2.0
// A 1x1 convolution together with what makes its input: a depthwise convolution with a clamp, or constant scales and
// shifts per channel with a clamp (the batch normalisation in front of a convolution in DenseNet).
#ifndef PLUMB_DEVICE_CPU_POINTWISE_BAND_H_
#define PLUMB_DEVICE_CPU_POINTWISE_BAND_H_

#include <vector>

#include "device/kernel.h"

namespace plumb::cpu {

// OK, or NotSupported where the members are no such layers, or are as fast apart.
Status IsPointwiseBand(const std::vector<const Layer*>& members, const BlobTable& blobs);

}  // namespace plumb::cpu

#endif  // PLUMB_DEVICE_CPU_POINTWISE_BAND_H_
