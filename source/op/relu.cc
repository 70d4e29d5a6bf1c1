// ReLU: y = max(x, 0), NaN stays NaN.
#include "op/op.h"

namespace plumb {

OpDef DefineReLU() { return {}; }

}  // namespace plumb
