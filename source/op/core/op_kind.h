// SPDX-License-Identifier: Apache-2.0
// OpKind: one value per row of op_list.def.
#ifndef PLUMB_OP_CORE_OP_KIND_H_
#define PLUMB_OP_CORE_OP_KIND_H_

namespace plumb {

enum class OpKind : int {
#define PLUMB_OP(name, file, min_inputs, max_inputs, outputs) k##name,
#include "op/core/op_list.def"
#undef PLUMB_OP
};

constexpr int kNumOps = 0
#define PLUMB_OP(name, file, min_inputs, max_inputs, outputs) +1
#include "op/core/op_list.def"
#undef PLUMB_OP
    ;

}  // namespace plumb

#endif  // PLUMB_OP_CORE_OP_KIND_H_
