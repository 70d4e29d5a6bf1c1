// SPDX-License-Identifier: Apache-2.0
// Expand: broadcasting (op/expand.h).
#include "reference/core/strided.h"

namespace plumb {

ReferenceOp ReferenceExpand() { return StridedOp(); }

}  // namespace plumb
