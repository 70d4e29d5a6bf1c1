// SPDX-License-Identifier: Apache-2.0
// StridedSlice, StridedSliceV2 (op/strided_slice.h).
#include "reference/core/strided.h"

namespace plumb {

ReferenceOp ReferenceStridedSlice() { return StridedOp(); }
ReferenceOp ReferenceStridedSliceV2() { return StridedOp(); }

}  // namespace plumb
