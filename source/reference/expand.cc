// Expand: broadcasting (op/expand.h).
#include "reference/core/strided.h"

namespace plumb {

ReferenceOp ReferenceExpand() { return StridedOp(); }

}  // namespace plumb
