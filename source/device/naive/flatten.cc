// Flatten: the same elements as 2-D.
#include "device/naive/strided.h"

namespace plumb {

NaiveOp NaiveFlatten() { return StridedOp(); }

}  // namespace plumb
