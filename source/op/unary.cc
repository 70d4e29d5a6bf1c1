// SPDX-License-Identifier: Apache-2.0
// Element-wise operators without parameters: y = f(x), any shape, float blobs. Those that make sense for whole numbers
// (op/unary_int.def) take i32 and i64 too. PlumbRound: to the nearest whole number, ties to even. The
// functions stand in op/unary.def and reference/unary.def.
#include "op/activation.h"

namespace plumb {
namespace {

OpDef DefineUnary() {
  OpDef op;
  op.infer = InferUnary;
  return op;
}

}  // namespace

#define PLUMB_UNARY_unary(name) \
  OpDef Define##name() { return DefineUnary(); }
#define PLUMB_UNARY_activation(name)
#define PLUMB_UNARY(name, file, ...) PLUMB_UNARY_##file(name)
#include "op/unary.def"
#undef PLUMB_UNARY
#undef PLUMB_UNARY_activation
#undef PLUMB_UNARY_unary

}  // namespace plumb
