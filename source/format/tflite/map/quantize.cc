// SPDX-License-Identifier: Apache-2.0
// Between integers, the reals that they stand for and other types.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "format/tflite/op_context.h"

namespace plumb::tflite {

Status MapComplexPart(OpContext& c);

// From floats, or from one grid to another.
Status MapQuantize(OpContext& c) {
  const Order order = c.OrderOf(0);
  PLUMB_ASSIGN_OR_RETURN(const std::string x, c.Real(0, order));
  return c.Set(0, x, order);
}

// Weights of 16 bits are a constant of 32 from here on.
Status MapDequantize(OpContext& c) {
  if (c.IsConstant(0) && c.IsFloat(0)) {
    PLUMB_ASSIGN_OR_RETURN(const Tensor value, c.writer().ValueOf(c.InputIndex(0)));
    c.writer().DefineConstant(c.OutputIndex(0), value, onnx::kTypeFloat);
    return Status::Ok();
  }
  const Order order = c.OrderOf(0);
  PLUMB_ASSIGN_OR_RETURN(const std::string x, c.Real(0, order));
  return c.SetRaw(0, c.Emit("Cast", {x}, {{"to", IntAttribute(onnx::kTypeFloat)}}), order);
}

Status MapDensify(OpContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const Tensor value, c.writer().ValueOf(c.InputIndex(0)));
  c.writer().DefineConstant(c.OutputIndex(0), value, c.writer().TypeOf(c.InputIndex(0)));
  return Status::Ok();
}

// Floats on a grid of 8 bits whose zero is one of its steps.
Status MapFakeQuant(OpContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const auto* options, c.Options<schema::FakeQuantOptions>());
  const float low = options->min(), high = options->max();
  if (options->num_bits() != 8 || options->narrow_range() || !(low <= 0 && high >= 0 && low < high))
    return Status::NotSupported(fmt::format("{} bits between {} and {}", options->num_bits(), low, high));
  const float scale = (high - low) / 255;
  const auto zero = static_cast<int64_t>(std::round(std::min(std::max(-low / scale, 0.0f), 255.0f)));
  const Order order = c.OrderOf(0);
  PLUMB_ASSIGN_OR_RETURN(const std::string x, c.Real(0, order));
  PLUMB_ASSIGN_OR_RETURN(const std::string step, c.Number(scale));
  PLUMB_ASSIGN_OR_RETURN(const Tensor value, Tensor::Zeros(DType::kI64, Shape{}));
  const_cast<Tensor&>(value).data<int64_t>()[0] = zero;
  const std::string point = c.writer().Constant(value, onnx::kTypeUint8);
  return c.Set(0, c.Emit("DequantizeLinear", {c.Emit("QuantizeLinear", {x, step, point}), step, point}), order);
}

Status MapCast(OpContext& c) {
  if (c.Input(0).type() == schema::TensorType::COMPLEX64) return MapComplexPart(c);
  const Order order = c.OrderOf(0);
  PLUMB_ASSIGN_OR_RETURN(const std::string x, c.Raw(0, order));
  const int type = c.writer().TypeOf(c.OutputIndex(0));
  if (type == onnx::kTypeUnknown) return Status::NotSupported("it casts to a type that Plumb has not");
  return c.SetRaw(0, c.Emit("Cast", {x}, {{"to", IntAttribute(type)}}), order);
}

}  // namespace plumb::tflite
