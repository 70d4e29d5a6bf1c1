// SPDX-License-Identifier: Apache-2.0
// Permute: reorders dims (op/permute.h).
#include "reference/core/strided.h"

namespace plumb {

ReferenceOp ReferencePermute() { return StridedOp(); }

}  // namespace plumb
