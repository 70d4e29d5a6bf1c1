// SplitV: pieces along one axis (op/split_v.h).
#include "device/naive/strided.h"

namespace plumb {

NaiveOp NaiveSplitV() { return StridedOp(); }

}  // namespace plumb
