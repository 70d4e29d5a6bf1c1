// PixelShuffle, Reorg: between channels and pixels (op/pixel_shuffle.h).
#include "device/naive/strided.h"

namespace plumb {

NaiveOp NaivePixelShuffle() { return StridedOp(); }
NaiveOp NaiveReorg() { return StridedOp(); }

}  // namespace plumb
