// SPDX-License-Identifier: Apache-2.0
// Tile: the blob repeated (op/tile.h).
#include "reference/core/strided.h"

namespace plumb {

ReferenceOp ReferenceTile() { return StridedOp(); }

}  // namespace plumb
