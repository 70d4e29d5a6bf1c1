// Permute: reorders dims (op/permute.h).
#include "device/naive/strided.h"

namespace plumb {

NaiveOp NaivePermute() { return StridedOp(); }

}  // namespace plumb
