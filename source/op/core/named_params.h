// SPDX-License-Identifier: Apache-2.0
// A layer's parameters by name: what ListParams (plumb/tool/support.h) prints, SetParams reads.
#ifndef PLUMB_OP_CORE_NAMED_PARAMS_H_
#define PLUMB_OP_CORE_NAMED_PARAMS_H_

#include <string>

#include "op/core/op.h"

namespace plumb {

// Sets the parameters that `text` names, as in "out_channels=8 kernel=3x3 stride=2 bias axes=[1,-1]"; others stay as
// they are. A boolean alone is true. A name whose fields end in _h and _w sets both: "stride=2", "kernel=1x7" (h x w).
// InvalidArgument for a name that the operator lacks (with those that it has) and a value that does not fit.
Status SetParams(const std::string& text, Layer* layer);

}  // namespace plumb

#endif  // PLUMB_OP_CORE_NAMED_PARAMS_H_
