// Expand: broadcasting (op/expand.h).
#include "device/naive/strided.h"

namespace plumb {

NaiveOp NaiveExpand() { return StridedOp(); }

}  // namespace plumb
