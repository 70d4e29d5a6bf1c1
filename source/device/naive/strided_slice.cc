// StridedSlice, StridedSliceV2 (op/strided_slice.h).
#include "device/naive/strided.h"

namespace plumb {

NaiveOp NaiveStridedSlice() { return StridedOp(); }
NaiveOp NaiveStridedSliceV2() { return StridedOp(); }

}  // namespace plumb
