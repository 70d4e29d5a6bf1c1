// SPDX-License-Identifier: Apache-2.0
// Flatten: the same elements as 2-D.
#include "reference/core/strided.h"

namespace plumb {

ReferenceOp ReferenceFlatten() { return StridedOp(); }

}  // namespace plumb
