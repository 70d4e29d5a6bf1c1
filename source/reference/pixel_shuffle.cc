// SPDX-License-Identifier: Apache-2.0
// PixelShuffle, Reorg: between channels and pixels (op/pixel_shuffle.h).
#include "reference/core/strided.h"

namespace plumb {

ReferenceOp ReferencePixelShuffle() { return StridedOp(); }
ReferenceOp ReferenceReorg() { return StridedOp(); }

}  // namespace plumb
