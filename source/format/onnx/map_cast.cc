// Cast, CastLike. Narrow integers and half floats are carried wider: casting to them rounds or wraps in the narrow type
// and widens again.
#include "format/onnx/node_context.h"

namespace plumb::onnx {
namespace {

Status CastToType(NodeContext& c, int type) {
  PLUMB_ASSIGN_OR_RETURN(const DType stored, StoredDType(type));
  PLUMB_ASSIGN_OR_RETURN(const DType carried, CarriedDType(type));
  Value y = c.In(0);
  if (c.In(0).type != type) {
    PLUMB_ASSIGN_OR_RETURN(y, c.CastTo(y, stored));
    PLUMB_ASSIGN_OR_RETURN(y, c.CastTo(y, carried));
  }
  c.Set(0, y, type);
  return Status::Ok();
}

}  // namespace

Status MapCast(NodeContext& c) { return CastToType(c, static_cast<int>(c.Int("to", 0))); }
Status MapCastLike(NodeContext& c) { return CastToType(c, c.In(1).type); }

}  // namespace plumb::onnx
