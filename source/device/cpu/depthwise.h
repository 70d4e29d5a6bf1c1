// SPDX-License-Identifier: Apache-2.0
// A depthwise convolution with what follows it, as kernels in channel blocks take it.
#ifndef PLUMB_DEVICE_CPU_DEPTHWISE_H_
#define PLUMB_DEVICE_CPU_DEPTHWISE_H_

#include <vector>

#include "device/kernel.h"
#include "simd/depthwise.h"

namespace plumb::cpu {

struct DepthwiseShape {
  simd::DepthwiseAxis h, w;
  simd::Clamp clamp;
  int64_t channels = 0;
};

// In channel blocks, zero behind the last channel; scales and shifts behind the convolution folded in.
struct DepthwiseWeights {
  std::vector<float> weights, bias;
};

// NotSupported where the members are no convolution of one channel per group with a clamp.
Result<DepthwiseShape> ReadDepthwise(const std::vector<const Layer*>& members, const BlobTable& blobs);
Result<DepthwiseWeights> PackDepthwise(const std::vector<const Layer*>& members, const BlobTable& blobs);

}  // namespace plumb::cpu

#endif  // PLUMB_DEVICE_CPU_DEPTHWISE_H_
