// SPDX-License-Identifier: Apache-2.0
// Clip: bounds from attributes (opset < 11) or inputs; a missing bound is the end of the type. Constant float bounds
// are TNN's Clip, others Maximum and Minimum.
#include <limits>

#include "format/onnx/node_context.h"
#include "op/activation.h"

namespace plumb::onnx {

Status MapClip(NodeContext& c) {
  const bool from_inputs = c.opset() >= 11;
  const bool has_min = from_inputs ? c.Has(1) : c.HasAttribute("min");
  const bool has_max = from_inputs ? c.Has(2) : c.HasAttribute("max");
  if (!has_min && !has_max) {
    c.Set(0, c.In(0));
    return Status::Ok();
  }
  const bool known = !from_inputs || ((!has_min || c.Known(1)) && (!has_max || c.Known(2)));
  if (known && c.DTypeOf(0) == DType::kF32) {
    auto param = std::make_shared<ClipParam>();
    param->min = std::numeric_limits<float>::lowest();
    param->max = std::numeric_limits<float>::max();
    const bool whole = has_min && has_max;  // an infinity that is not clipped must stay
    if (whole) {
      param->min = from_inputs ? static_cast<float>(c.Known(1)->ValueAt(0)) : c.Float("min", 0);
      param->max = from_inputs ? static_cast<float>(c.Known(2)->ValueAt(0)) : c.Float("max", 0);
      if (param->min == 0 && param->max == 6) return c.EmitOutput(OpKind::kReLU6, nullptr, {c.In(0)});
      return c.EmitOutput(OpKind::kClip, param, {c.In(0)});
    }
  }
  Value y = c.In(0);
  if (has_min) {
    const Value bound = from_inputs ? c.In(1) : c.ConstFloat(c.Float("min", 0), c.DTypeOf(0));
    PLUMB_ASSIGN_OR_RETURN(y, c.Emit(OpKind::kMaximum, nullptr, {y, bound}));
  }
  if (has_max) {
    const Value bound = from_inputs ? c.In(2) : c.ConstFloat(c.Float("max", 0), c.DTypeOf(0));
    PLUMB_ASSIGN_OR_RETURN(y, c.Emit(OpKind::kMinimum, nullptr, {y, bound}));
  }
  c.Set(0, y);
  return Status::Ok();
}

}  // namespace plumb::onnx
