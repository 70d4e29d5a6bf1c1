// SPDX-License-Identifier: Apache-2.0
// FusedPart: a step as a runtime computes it that fused its layers, without the roundings between them.
#ifndef PLUMB_CHECK_INTEGER_FUSED_PART_H_
#define PLUMB_CHECK_INTEGER_FUSED_PART_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "check/integer/cut_group.h"

namespace plumb {

struct FusedPart {
  CutGroup part;
  std::vector<std::shared_ptr<Layer>> layers;  // the members of the part
};

// The part of a step that makes the blob, each inner QuantizeLinear with its DequantizeLinear left out. Nothing: it has
// none.
std::optional<FusedPart> FusedPartOf(const LayerGroup& group, const std::vector<Tensor>& inputs,
                                     const std::string& blob);

}  // namespace plumb

#endif  // PLUMB_CHECK_INTEGER_FUSED_PART_H_
