// SPDX-License-Identifier: Apache-2.0
// Squeeze, Unsqueeze: the same elements under another shape.
#include "reference/core/strided.h"

namespace plumb {

ReferenceOp ReferenceSqueeze() { return StridedOp(); }
ReferenceOp ReferenceUnsqueeze() { return StridedOp(); }

}  // namespace plumb
