// Tile: the blob repeated (op/tile.h).
#include "device/naive/strided.h"

namespace plumb {

NaiveOp NaiveTile() { return StridedOp(); }

}  // namespace plumb
