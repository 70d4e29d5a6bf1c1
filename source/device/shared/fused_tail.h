// SPDX-License-Identifier: Apache-2.0
// Which layers one kernel of a device may compute together, and what they amount to.
//
// A convolution (or inner product, or nothing at all) is followed by, in this order: constant scales and shifts per
// channel (folded into the weights and bias), one addition of another blob of the same shape, one activation. So batch
// normalisation, residual additions and activations cost no pass over memory.
#ifndef PLUMB_DEVICE_SHARED_FUSED_TAIL_H_
#define PLUMB_DEVICE_SHARED_FUSED_TAIL_H_

#include <string>
#include <vector>

#include "device/kernel.h"
#include "device/shared/epilogue.h"

namespace plumb {

// y = scale[c] * x + shift[c]; empty vectors: the identity.
struct ChannelAffine {
  std::vector<float> scale, shift;
  bool empty() const { return scale.empty(); }
};

struct FusedGroup {
  const Layer* head = nullptr;  // the convolution or inner product; null for a group of element-wise layers only
  ChannelAffine affine;         // in float64 internally, rounded once
  int addend_member = -1;       // the member that adds another blob ...
  int addend_slot = -1;         // ... in this input slot
  Epilogue epilogue;            // sum is set when there is an addend

  // The position of the addend among the group's inputs, or -1.
  int AddendInput(const LayerGroup& group) const;
};

// NotSupported when the members are not such a sequence. Resources that are not drawn yet are taken as fitting.
Result<FusedGroup> ReadGroup(const std::vector<const Layer*>& members, const BlobTable& blobs);

// A weight as f32 (stored f16 and bf16 weights are widened). NotFound when the layer has none in that slot.
Result<Tensor> F32Resource(const Layer& layer, const std::string& slot);

}  // namespace plumb

#endif  // PLUMB_DEVICE_SHARED_FUSED_TAIL_H_
