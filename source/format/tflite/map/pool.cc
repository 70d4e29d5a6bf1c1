// SPDX-License-Identifier: Apache-2.0
// AVERAGE_POOL_2D (borders do not count), MAX_POOL_2D, L2_POOL_2D (the root of the average of squares).
#include "format/tflite/map/window.h"
#include "format/tflite/op_context.h"

namespace plumb::tflite {

Status MapPool(OpContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const auto* options, c.Options<schema::Pool2DOptions>());
  onnx::AttributeMap attributes = {{"kernel_shape", IntsAttribute({options->filter_height(), options->filter_width()})},
                                   {"strides", IntsAttribute({options->stride_h(), options->stride_w()})}};
  PLUMB_ASSIGN_OR_RETURN(attributes["auto_pad"], PaddingAttribute(options->padding()));
  PLUMB_ASSIGN_OR_RETURN(const std::string x, c.Real(0, Order::kFirst));
  std::string y;
  if (c.code() == schema::BuiltinOperator::MAX_POOL_2D) {
    y = c.Emit("MaxPool", {x}, attributes);
  } else if (c.code() == schema::BuiltinOperator::AVERAGE_POOL_2D) {
    y = c.Emit("AveragePool", {x}, attributes);
  } else {
    y = c.Emit("Sqrt", {c.Emit("AveragePool", {c.Emit("Mul", {x, x})}, attributes)});
  }
  return c.Set(0, y, Order::kFirst, options->fused_activation_function());
}

}  // namespace plumb::tflite
