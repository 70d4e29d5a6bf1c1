// SPDX-License-Identifier: Apache-2.0
// Operators of one value, and PRELU.
#include <fmt/core.h>

#include "format/tflite/op_context.h"

namespace plumb::tflite {
namespace {

using Code = schema::BuiltinOperator;

Result<std::string> Clipped(OpContext& c, const std::string& x, float low, float high) {
  PLUMB_ASSIGN_OR_RETURN(const std::string least, c.Number(low));
  PLUMB_ASSIGN_OR_RETURN(const std::string most, c.Number(high));
  return c.Emit("Clip", {x, least, most});
}

// ONNX's operator of the same meaning; null: there is none.
const char* SameOperator(Code code) {
  switch (code) {
    case Code::ABS: return "Abs";
    case Code::NEG: return "Neg";
    case Code::EXP: return "Exp";
    case Code::LOG: return "Log";
    case Code::SQRT: return "Sqrt";
    case Code::SIN: return "Sin";
    case Code::COS: return "Cos";
    case Code::FLOOR: return "Floor";
    case Code::CEIL: return "Ceil";
    case Code::ROUND: return "Round";
    case Code::SIGN: return "Sign";
    case Code::LOGISTIC: return "Sigmoid";
    case Code::TANH: return "Tanh";
    case Code::RELU: return "Relu";
    case Code::ELU: return "Elu";
    case Code::HARD_SWISH: return "HardSwish";
    case Code::LOGICAL_NOT: return "Not";
    default: return nullptr;
  }
}

Result<std::string> UnaryOf(OpContext& c, const std::string& x) {
  if (const char* same = SameOperator(c.code())) return c.Emit(same, {x});
  switch (c.code()) {
    case Code::RSQRT: return c.Emit("Reciprocal", {c.Emit("Sqrt", {x})});
    case Code::SQUARE: return c.Emit("Mul", {x, x});
    case Code::RELU6: return Clipped(c, x, 0, 6);
    case Code::RELU_N1_TO_1: return Clipped(c, x, -1, 1);
    case Code::RELU_0_TO_1: return Clipped(c, x, 0, 1);
    case Code::LEAKY_RELU: {
      PLUMB_ASSIGN_OR_RETURN(const auto* options, c.Options<schema::LeakyReluOptions>());
      return c.Emit("LeakyRelu", {x}, {{"alpha", FloatAttribute(options->alpha())}});
    }
    default: {  // GELU
      const auto* options = c.op().builtin_options_as<schema::GeluOptions>();
      const bool approximate = options != nullptr && options->approximate();
      return c.Emit("Gelu", {x}, {{"approximate", TextAttribute(approximate ? "tanh" : "none")}});
    }
  }
}

}  // namespace

Status MapUnary(OpContext& c) {
  const Order order = c.OrderOf(0);
  PLUMB_ASSIGN_OR_RETURN(const std::string x, c.Real(0, order));
  PLUMB_ASSIGN_OR_RETURN(const std::string y, UnaryOf(c, x));
  return c.Set(0, y, order);
}

Status MapPRelu(OpContext& c) {
  const Order order = c.OrderOf(0);
  PLUMB_ASSIGN_OR_RETURN(const std::string x, c.Real(0, order));
  PLUMB_ASSIGN_OR_RETURN(const std::string slope, c.Real(1, order, c.Rank(0)));
  return c.Set(0, c.Emit("PRelu", {x, slope}), order);
}

}  // namespace plumb::tflite
