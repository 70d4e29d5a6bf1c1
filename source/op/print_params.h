// A layer's parameters as "kernel_h 3  kernel_w 3  pad_type -1", in tnnproto order.
#ifndef PLUMB_OP_PRINT_PARAMS_H_
#define PLUMB_OP_PRINT_PARAMS_H_

#include <string>
#include <utility>
#include <vector>

#include "op/op.h"

namespace plumb {

// (name, value as text) of every field.
std::vector<std::pair<std::string, std::string>> ListParams(const Layer& layer);

}  // namespace plumb

#endif  // PLUMB_OP_PRINT_PARAMS_H_
