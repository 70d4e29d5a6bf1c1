// Dropout, Identity, Split: copies.
#include "device/naive/strided.h"

namespace plumb {

NaiveOp NaiveDropout() { return StridedOp(); }
NaiveOp NaiveIdentity() { return StridedOp(); }
NaiveOp NaiveSplit() { return StridedOp(); }

}  // namespace plumb
