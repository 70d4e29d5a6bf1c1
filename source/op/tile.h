// SPDX-License-Identifier: Apache-2.0
// Tile: repeats the whole blob repeats[i] times along dim i. Both are aligned at the last dim; a missing dim or repeat
// is 1. The repeats may come from a second, known integer input instead.
#ifndef PLUMB_OP_TILE_H_
#define PLUMB_OP_TILE_H_

#include "op/core/op.h"

namespace plumb {

struct TileParam : ParamBase<TileParam> {
  std::vector<int> repeats;
  void Visit(ParamVisitor& v) override { v.Rest("repeats", repeats); }
};

}  // namespace plumb

#endif  // PLUMB_OP_TILE_H_
