// SPDX-License-Identifier: Apache-2.0
// Operators of two tensors that broadcast, and SELECT.
#include <fmt/core.h>

#include <algorithm>

#include "format/tflite/op_context.h"

namespace plumb::tflite {
namespace {

using Code = schema::BuiltinOperator;

template <class T>
schema::Activation FusedIn(const OpContext& c) {
  const T* options = c.op().builtin_options_as<T>();
  return options == nullptr ? schema::Activation::NONE : options->fused_activation_function();
}

schema::Activation FusedActivation(const OpContext& c) {
  switch (c.code()) {
    case Code::ADD: return FusedIn<schema::AddOptions>(c);
    case Code::SUB: return FusedIn<schema::SubOptions>(c);
    case Code::MUL: return FusedIn<schema::MulOptions>(c);
    case Code::DIV: return FusedIn<schema::DivOptions>(c);
    default: return schema::Activation::NONE;
  }
}

// The remainder with the sign of the divisor.
Result<std::string> FloorRemainder(OpContext& c, const std::string& a, const std::string& b) {
  if (!c.IsFloat(0)) return c.Emit("Mod", {a, b});
  const std::string rest = c.Emit("Mod", {a, b}, {{"fmod", IntAttribute(1)}});
  PLUMB_ASSIGN_OR_RETURN(const std::string zero, c.Number(0));
  const std::string differ = c.Emit("Less", {c.Emit("Mul", {c.Emit("Sign", {rest}), b}), zero});
  return c.Emit("Where", {differ, c.Emit("Add", {rest, b}), rest});
}

std::string FloorQuotient(OpContext& c, const std::string& a, const std::string& b) {
  return c.Emit("Div", {c.Emit("Sub", {a, c.Emit("Mod", {a, b})}), b});
}

// Of the point (x, y): atan(y / x), and half a turn more or less where x is below 0; 0 of the origin.
Result<std::string> AngleOf(OpContext& c, const std::string& y, const std::string& x) {
  constexpr float kPi = 3.14159265358979323846f;
  PLUMB_ASSIGN_OR_RETURN(const std::string zero, c.Number(0));
  PLUMB_ASSIGN_OR_RETURN(const std::string pi, c.Number(kPi));
  PLUMB_ASSIGN_OR_RETURN(const std::string back, c.Number(-kPi));
  const std::string near = c.Emit("Atan", {c.Emit("Div", {y, x})});
  const std::string turn = c.Emit("Where", {c.Emit("Less", {y, zero}), back, pi});
  const std::string any = c.Emit("Where", {c.Emit("Less", {x, zero}), c.Emit("Add", {near, turn}), near});
  const std::string origin = c.Emit("And", {c.Emit("Equal", {x, zero}), c.Emit("Equal", {y, zero})});
  return c.Emit("Where", {origin, zero, any});
}

Result<std::string> ArithmeticOf(OpContext& c, const std::string& a, const std::string& b) {
  switch (c.code()) {
    case Code::STABLEHLO_ADD:
    case Code::ADD: return c.Emit("Add", {a, b});
    case Code::SUB: return c.Emit("Sub", {a, b});
    case Code::STABLEHLO_MULTIPLY:
    case Code::MUL: return c.Emit("Mul", {a, b});
    case Code::DIV: return c.Emit("Div", {a, b});
    case Code::STABLEHLO_MAXIMUM:
    case Code::MAXIMUM: return c.Emit("Max", {a, b});
    case Code::STABLEHLO_MINIMUM:
    case Code::MINIMUM: return c.Emit("Min", {a, b});
    case Code::POW: return c.Emit("Pow", {a, b});
    case Code::FLOOR_MOD: return FloorRemainder(c, a, b);
    case Code::FLOOR_DIV: return c.IsFloat(0) ? c.Emit("Floor", {c.Emit("Div", {a, b})}) : FloorQuotient(c, a, b);
    case Code::ATAN2: return AngleOf(c, a, b);
    default: {
      const std::string difference = c.Emit("Sub", {a, b});
      return c.Emit("Mul", {difference, difference});
    }
  }
}

int LargestRank(const OpContext& c) {
  int rank = 0;
  for (size_t i = 0; i < c.NumInputs(); ++i) rank = std::max(rank, c.Has(i) ? c.Rank(i) : 0);
  return rank;
}

}  // namespace

Status MapArithmetic(OpContext& c) {
  const int rank = LargestRank(c);
  const Order order = c.CommonOrder(rank);
  const int wanted = order == Order::kFirst ? rank : 0;
  PLUMB_ASSIGN_OR_RETURN(const std::string a, c.Real(0, order, wanted));
  PLUMB_ASSIGN_OR_RETURN(const std::string b, c.Real(1, order, wanted));
  PLUMB_ASSIGN_OR_RETURN(const std::string y, ArithmeticOf(c, a, b));
  return c.Set(0, y, order, FusedActivation(c));
}

// Bits of integers. A shift to the right keeps the sign: it is a quotient of a power of two, rounded down.
Status MapBits(OpContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const std::string a, c.Raw(0, Order::kFile));
  PLUMB_ASSIGN_OR_RETURN(const std::string b, c.Raw(1, Order::kFile));
  if (c.code() == Code::BITWISE_XOR) return c.SetRaw(0, c.Emit("BitwiseXor", {a, b}), Order::kFile);
  constexpr int64_t kMostBits = 31;
  const auto wide = [&c](const std::string& x) {
    return c.Emit("Cast", {x}, {{"to", IntAttribute(onnx::kTypeInt64)}});
  };
  PLUMB_ASSIGN_OR_RETURN(const std::string zero, c.writer().Ints({0}, true));
  PLUMB_ASSIGN_OR_RETURN(const std::string most, c.writer().Ints({kMostBits}, true));
  PLUMB_ASSIGN_OR_RETURN(const std::string one, c.writer().Ints({1}, true));
  const std::string by = c.Emit("Min", {c.Emit("Max", {wide(b), zero}), most});
  const std::string power = c.Emit("BitShift", {one, by}, {{"direction", TextAttribute("LEFT")}});
  const int type = c.writer().TypeOf(c.OutputIndex(0));
  return c.SetRaw(0, c.Emit("Cast", {FloorQuotient(c, wide(a), power)}, {{"to", IntAttribute(type)}}), Order::kFile);
}

// The shape to which two shapes broadcast.
Status MapBroadcastArgs(OpContext& c) {
  if (c.Rank(0) != 1 || c.Rank(1) != 1) return Status::CorruptModel("it expects two shapes");
  const int64_t longest = std::max(c.InShape(0)[0], c.InShape(1)[0]);
  std::vector<std::string> dims;
  for (size_t i = 0; i < 2; ++i) {
    PLUMB_ASSIGN_OR_RETURN(const std::string given, c.Raw(i, Order::kFile));
    PLUMB_ASSIGN_OR_RETURN(const std::string ones,
                           c.IntsConstant(std::vector<int64_t>(static_cast<size_t>(longest - c.InShape(i)[0]), 1)));
    const std::string wide = c.Emit("Cast", {given}, {{"to", IntAttribute(onnx::kTypeInt64)}});
    dims.push_back(c.Emit("Concat", {ones, wide}, {{"axis", IntAttribute(0)}}));
  }
  PLUMB_ASSIGN_OR_RETURN(const std::string one, c.writer().Ints({1}, true));
  const std::string both = c.Emit("Where", {c.Emit("Equal", {dims[0], one}), dims[1], dims[0]});
  const int type = c.writer().TypeOf(c.OutputIndex(0));
  return c.SetRaw(0, c.Emit("Cast", {both}, {{"to", IntAttribute(type)}}), Order::kFile);
}

Status MapAddN(OpContext& c) {
  const Order order = c.CommonOrder(c.Rank(0));
  std::vector<std::string> inputs;
  for (size_t i = 0; i < c.NumInputs(); ++i) {
    PLUMB_ASSIGN_OR_RETURN(const std::string x, c.Real(i, order));
    inputs.push_back(x);
  }
  return c.Set(0, c.Emit("Sum", inputs), order);
}

Status MapComparison(OpContext& c) {
  const int rank = LargestRank(c);
  const Order order = c.CommonOrder(rank);
  const int wanted = order == Order::kFirst ? rank : 0;
  PLUMB_ASSIGN_OR_RETURN(const std::string a, c.Real(0, order, wanted));
  PLUMB_ASSIGN_OR_RETURN(const std::string b, c.Real(1, order, wanted));
  std::string y;
  switch (c.code()) {
    case Code::EQUAL: y = c.Emit("Equal", {a, b}); break;
    case Code::NOT_EQUAL: y = c.Emit("Not", {c.Emit("Equal", {a, b})}); break;
    case Code::GREATER: y = c.Emit("Greater", {a, b}); break;
    case Code::GREATER_EQUAL: y = c.Emit("GreaterOrEqual", {a, b}); break;
    case Code::LESS: y = c.Emit("Less", {a, b}); break;
    case Code::LESS_EQUAL: y = c.Emit("LessOrEqual", {a, b}); break;
    case Code::LOGICAL_AND: y = c.Emit("And", {a, b}); break;
    default: y = c.Emit("Or", {a, b}); break;
  }
  return c.SetRaw(0, y, order);
}

// SELECT's condition may be one flag per row.
Status MapSelect(OpContext& c) {
  const int rank = LargestRank(c);
  const bool rows = c.code() == Code::SELECT && c.Rank(0) == 1 && rank > 1;
  const Order order = rows ? Order::kFile : c.CommonOrder(rank);
  const int wanted = order == Order::kFirst ? rank : 0;
  PLUMB_ASSIGN_OR_RETURN(std::string condition, c.Raw(0, order, wanted));
  if (rows) {
    std::vector<int64_t> axes;
    for (int i = 1; i < rank; ++i) axes.push_back(i);
    PLUMB_ASSIGN_OR_RETURN(const std::string trailing, c.IntsConstant(axes));
    condition = c.Emit("Unsqueeze", {condition, trailing});
  }
  PLUMB_ASSIGN_OR_RETURN(const std::string yes, c.Real(1, order, wanted));
  PLUMB_ASSIGN_OR_RETURN(const std::string no, c.Real(2, order, wanted));
  return c.Set(0, c.Emit("Where", {condition, yes, no}), order);
}

}  // namespace plumb::tflite
