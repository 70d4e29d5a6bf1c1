// SPDX-License-Identifier: Apache-2.0
// Mod: the remainder with the divisor's sign, or with fmod the dividend's.
#include "format/onnx/node_context.h"

namespace plumb::onnx {

Status MapMod(NodeContext& c) {
  const OpKind kind = c.Int("fmod", 0) != 0 ? OpKind::kPlumbFmod : OpKind::kPlumbMod;
  PLUMB_ASSIGN_OR_RETURN(const Value y, c.Binary(kind, c.In(0), c.In(1)));
  c.Set(0, y);
  return Status::Ok();
}

}  // namespace plumb::onnx
