// SPDX-License-Identifier: Apache-2.0
// SplitV: pieces along one axis (op/split_v.h).
#include "reference/core/strided.h"

namespace plumb {

ReferenceOp ReferenceSplitV() { return StridedOp(); }

}  // namespace plumb
