// SPDX-License-Identifier: Apache-2.0
// Cells of operators that compute each element for itself. What several operators can write in several ways is written
// in one: x / 2 as a scale, GELU by erf, Swish as x times sigmoid(x), a power of 2 as a product.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "names/trace.h"
#include "op/activation.h"
#include "op/binary.h"
#include "op/cast.h"
#include "op/core/strided.h"
#include "plumb/tool/support.h"

namespace plumb {
namespace {

constexpr double kNoLimit = 1e30;

bool IsElementWise(OpKind kind) {
  switch (kind) {
#define PLUMB_UNARY(name, ...) case OpKind::k##name:
#include "op/unary.def"
#undef PLUMB_UNARY
#define PLUMB_BINARY(name, ...) case OpKind::k##name:
#include "op/binary.def"
#undef PLUMB_BINARY
#define PLUMB_BITWISE(name, ...) case OpKind::k##name:
#include "op/bitwise.def"
#undef PLUMB_BITWISE
#define PLUMB_COMPARE(name, ...) case OpKind::k##name:
#include "op/compare.def"
#undef PLUMB_COMPARE
    case OpKind::kWhere:
    case OpKind::kCast:
    case OpKind::kPlumbCast:
    case OpKind::kPlumbIsNaN:
    case OpKind::kPlumbIsInf: return true;
    default: return false;
  }
}

bool IsWhole(DType dtype) { return dtype == DType::kI32 || dtype == DType::kI64; }

std::string TextOfLayer(const Layer& layer) {
  std::string text = layer.type;
  for (const auto& [name, value] : ListParams(layer)) text += " " + name + "=" + value;
  return text;
}

Result<Cells> PowerOfCells(double exponent, const Cells& x, ConstantTable* constants) {
  if (exponent == 1) return x;
  if (exponent == 2) return ProductOfCells(x, x, x.shape());
  if (exponent == 0.5) return FunctionOfCells("Sqrt", x, constants);
  if (exponent == -1) return InverseOfCells(x, constants);
  if (exponent == -0.5) {
    PLUMB_ASSIGN_OR_RETURN(const Cells root, FunctionOfCells("Sqrt", x, constants));
    return InverseOfCells(root, constants);
  }
  return FunctionOfCells(fmt::format("power {}", constants->Number(exponent)), x, constants);
}

// a x + b, where both are numbers.
Result<Cells> LineOfCells(double a, double b, Cells x, ConstantTable* constants) {
  x.scale *= a;
  if (b == 0) return x;
  PLUMB_ASSIGN_OR_RETURN(const Cells shift, ConstantCells(b, constants));
  return SumOfCells(x, shift, x.shape(), constants);
}

Result<Cells> HardSigmoidOfCells(double alpha, double beta, const Cells& x, ConstantTable* constants) {
  // As it is mostly written: clip(x + 3, 0, 6) / 6.
  if (alpha == 0) return ConstantCells(std::clamp(beta, 0.0, 1.0), constants);
  PLUMB_ASSIGN_OR_RETURN(const Cells line, LineOfCells(1, beta / alpha, x, constants));
  PLUMB_ASSIGN_OR_RETURN(Cells clipped, ClippedCells(0, 1 / alpha, line, constants));
  clipped.scale *= alpha;
  return clipped;
}

Result<Cells> GeluOfCells(const Cells& x, ConstantTable* constants) {
  Cells inner = x;
  inner.scale *= std::sqrt(0.5);
  PLUMB_ASSIGN_OR_RETURN(const Cells erf, FunctionOfCells("Erf", inner, constants));
  PLUMB_ASSIGN_OR_RETURN(const Cells one, ConstantCells(1, constants));
  PLUMB_ASSIGN_OR_RETURN(const Cells gate, SumOfCells(erf, one, x.shape(), constants));
  PLUMB_ASSIGN_OR_RETURN(Cells y, ProductOfCells(x, gate, x.shape()));
  y.scale *= 0.5;
  return y;
}

Result<Cells> UnaryCells(const TracedLayer& traced, const Cells& x) {
  const Layer& layer = traced.layer;
  ConstantTable* constants = traced.constants;
  switch (layer.kind) {
    case OpKind::kNeg: return LineOfCells(-1, 0, x, constants);
    case OpKind::kReLU: return ClippedCells(0, kNoLimit, x, constants);
    case OpKind::kReLU6: return ClippedCells(0, 6, x, constants);
    case OpKind::kClip: return ClippedCells(ParamOf<ClipParam>(layer).min, ParamOf<ClipParam>(layer).max, x, constants);
    case OpKind::kSwish: return SwishOfCells(x, constants);
    case OpKind::kGELU: return GeluOfCells(x, constants);
    case OpKind::kReciprocal: return InverseOfCells(x, constants);
    case OpKind::kRsqrt: return PowerOfCells(-0.5, x, constants);
    case OpKind::kHardSigmoid: {
      const auto& p = ParamOf<HardParam>(layer);
      return HardSigmoidOfCells(p.alpha, p.beta, x, constants);
    }
    case OpKind::kHardSwish: {
      const auto& p = ParamOf<HardParam>(layer);
      PLUMB_ASSIGN_OR_RETURN(const Cells gate, HardSigmoidOfCells(p.alpha, p.beta, x, constants));
      return ProductOfCells(x, gate, x.shape());
    }
    case OpKind::kPower: {
      const auto& p = ParamOf<PowerParam>(layer);
      PLUMB_ASSIGN_OR_RETURN(const Cells line, LineOfCells(p.scale, p.shift, x, constants));
      return PowerOfCells(p.exponent, line, constants);
    }
    case OpKind::kCast:
    case OpKind::kPlumbCast:
      if (IsFloat(traced.infos[0].dtype) && IsFloat(traced.outputs[0].dtype)) return x;
      if (IsWhole(traced.infos[0].dtype) && IsWhole(traced.outputs[0].dtype)) return x;
      return FunctionOfCells(fmt::format("to {}", DTypeName(traced.outputs[0].dtype)), x, constants);
    default: return FunctionOfCells(TextOfLayer(layer), x, constants);
  }
}

// Both operands of a binary operator, a constant one of the layer's own among them; their values where they are known.
struct BinaryOperands {
  Cells x, y;
  Tensor first, second;
};

Result<BinaryOperands> OperandsOf(const TracedLayer& traced) {
  if (traced.inputs.size() > 1)
    return BinaryOperands{traced.inputs[0], traced.inputs[1], traced.infos[0].value, traced.infos[1].value};
  const Tensor* element = traced.layer.Resource("element");
  if (element == nullptr) return Status::Internal("a binary operator has one operand");
  PLUMB_ASSIGN_OR_RETURN(const Shape shape, ConstantOperandShape(*element, traced.infos[0].shape));
  PLUMB_ASSIGN_OR_RETURN(const Tensor shaped, element->Reshaped(shape));
  PLUMB_ASSIGN_OR_RETURN(const Cells constant, traced.constants->CellsOf(shaped));
  if (ParamOf<BinaryParam>(traced.layer).weight_input_index == 0)
    return BinaryOperands{constant, traced.inputs[0], shaped, Tensor()};
  return BinaryOperands{traced.inputs[0], constant, Tensor(), shaped};
}

// The number that all elements of a constant are.
std::optional<double> OneNumber(const Tensor& value) {
  if (value.empty() || value.NumElements() == 0 || !IsFloat(value.dtype())) return std::nullopt;
  const double first = value.ValueAt(0);
  for (int64_t i = 1; i < value.NumElements(); ++i) {
    if (value.ValueAt(i) != first) return std::nullopt;
  }
  return first;
}

// Maximum or Minimum with a number is one side of a clip.
Result<std::vector<Cells>> OneSidedClip(const TracedLayer& traced, const BinaryOperands& operands) {
  std::vector<Cells> clipped;
  const auto first = OneNumber(operands.first), second = OneNumber(operands.second);
  if (!first && !second) return clipped;
  const double limit = second ? *second : *first;
  const bool low = traced.layer.kind == OpKind::kMaximum;
  PLUMB_ASSIGN_OR_RETURN(const Cells x, Broadcast(second ? operands.x : operands.y, traced.outputs[0].shape));
  PLUMB_ASSIGN_OR_RETURN(clipped.emplace_back(),
                         ClippedCells(low ? limit : -kNoLimit, low ? kNoLimit : limit, x, traced.constants));
  return clipped;
}

// A constant is inverted by its values: dividing by it is multiplying with what an optimiser made of it.
Result<Cells> DivisorOf(const BinaryOperands& operands, ConstantTable* constants) {
  if (operands.second.empty() || !IsFloat(operands.second.dtype())) return InverseOfCells(operands.y, constants);
  PLUMB_ASSIGN_OR_RETURN(Tensor inverse, Tensor::Create(DType::kF32, operands.second.shape()));
  for (int64_t i = 0; i < inverse.NumElements(); ++i)
    inverse.data<float>()[i] = static_cast<float>(1 / operands.second.ValueAt(i));
  return constants->CellsOf(inverse);
}

Result<Cells> MixedCells(const TracedLayer& traced, std::vector<Cells> operands) {
  const Shape& shape = traced.outputs[0].shape;
  const OpKind kind = traced.layer.kind;
  const bool either_order = kind == OpKind::kMaximum || kind == OpKind::kMinimum || kind == OpKind::kEqual ||
                            kind == OpKind::kAnd || kind == OpKind::kPlumbOr || kind == OpKind::kPlumbXor;
  for (Cells& x : operands) {
    PLUMB_ASSIGN_OR_RETURN(const Cells baked, Baked(x, traced.constants));
    PLUMB_ASSIGN_OR_RETURN(x, Broadcast(baked, shape));
  }
  const Cell function = CellOfText(traced.layer.type);
  std::vector<const Cell*> read;
  for (const Cells& x : operands) read.push_back(x.data());
  return CellsWhere(shape, 1, [&](int64_t i) {
    Cell cell = function, sum = 0;
    for (const Cell* x : read) {
      if (either_order) {
        sum = AddCells(sum, MixCells(function, x[i]));
      } else {
        cell = MixCells(cell, x[i]);
      }
    }
    return MixCells(cell, sum);
  });
}

Result<Cells> BinaryCells(const TracedLayer& traced) {
  const Shape& shape = traced.outputs[0].shape;
  ConstantTable* constants = traced.constants;
  PLUMB_ASSIGN_OR_RETURN(BinaryOperands operands, OperandsOf(traced));
  Cells &x = operands.x, &y = operands.y;
  const bool real = IsFloat(traced.outputs[0].dtype);
  switch (traced.layer.kind) {
    case OpKind::kAdd: return SumOfCells(x, y, shape, constants);
    case OpKind::kSub: y.scale = -y.scale; return SumOfCells(x, y, shape, constants);
    case OpKind::kMul: return ProductOfCells(x, y, shape);
    case OpKind::kSquaredDifference: {
      y.scale = -y.scale;
      PLUMB_ASSIGN_OR_RETURN(const Cells difference, SumOfCells(x, y, shape, constants));
      return ProductOfCells(difference, difference, shape);
    }
    case OpKind::kDiv: {
      if (!real) break;
      PLUMB_ASSIGN_OR_RETURN(const Cells inverse, DivisorOf(operands, constants));
      return ProductOfCells(x, inverse, shape);
    }
    case OpKind::kPlumbPow: {
      const bool known = !operands.second.empty() && operands.second.NumElements() == 1;
      if (!known || !real) break;
      PLUMB_ASSIGN_OR_RETURN(const Cells base, Broadcast(x, shape));
      return PowerOfCells(operands.second.ValueAt(0), base, constants);
    }
    case OpKind::kMaximum:
    case OpKind::kMinimum: {
      PLUMB_ASSIGN_OR_RETURN(const std::vector<Cells> clipped, OneSidedClip(traced, operands));
      if (!clipped.empty()) return clipped[0];
      break;
    }
    default: break;
  }
  return MixedCells(traced, {x, y});
}

}  // namespace

Result<Cells> Broadcast(const Cells& x, const Shape& shape) {
  if (x.shape() == shape) return x;
  const auto both = BroadcastShapes(x.shape(), shape);
  if (!both.ok() || *both != shape)
    return Status::InvalidArgument(fmt::format("{} does not broadcast to {}", x.shape().ToString(), shape.ToString()));
  Cells out = x;
  StridedMap map = BroadcastMap(x.shape(), shape);
  map.Simplify();
  PLUMB_ASSIGN_OR_RETURN(out.cells, ApplyMap(map, x.cells));
  return out;
}

Result<Cells> Baked(const Cells& x, ConstantTable* constants) {
  const double scale = constants->Number(x.scale);
  if (scale == 1) return Cells{x.cells, 1};
  const Cell factor = CellOfNumber(scale);
  const Cell* from = x.data();
  return CellsWhere(x.shape(), 1, [=](int64_t i) { return MultiplyCells(from[i], factor); });
}

Result<Cells> SumOfCells(const Cells& x, const Cells& y, const Shape& shape, ConstantTable* constants) {
  const bool same = constants->Number(x.scale) == constants->Number(y.scale);
  Cells a = x, b = y;
  if (!same) {
    PLUMB_ASSIGN_OR_RETURN(a, Baked(x, constants));
    PLUMB_ASSIGN_OR_RETURN(b, Baked(y, constants));
  }
  PLUMB_ASSIGN_OR_RETURN(a, Broadcast(a, shape));
  PLUMB_ASSIGN_OR_RETURN(b, Broadcast(b, shape));
  const Cell *first = a.data(), *second = b.data();
  return CellsWhere(shape, same ? x.scale : 1, [=](int64_t i) { return AddCells(first[i], second[i]); });
}

Result<Cells> ProductOfCells(const Cells& x, const Cells& y, const Shape& shape) {
  PLUMB_ASSIGN_OR_RETURN(const Cells a, Broadcast(x, shape));
  PLUMB_ASSIGN_OR_RETURN(const Cells b, Broadcast(y, shape));
  const Cell *first = a.data(), *second = b.data();
  return CellsWhere(shape, x.scale * y.scale, [=](int64_t i) { return MultiplyCells(first[i], second[i]); });
}

Result<Cells> FunctionOfCells(std::string_view function, const Cells& x, ConstantTable* constants) {
  PLUMB_ASSIGN_OR_RETURN(const Cells baked, Baked(x, constants));
  const Cell name = CellOfText(function);
  const Cell* from = baked.data();
  return CellsWhere(x.shape(), 1, [=](int64_t i) { return MixCells(name, from[i]); });
}

Result<Cells> InverseOfCells(const Cells& x, ConstantTable* constants) {
  return FunctionOfCells("inverse", x, constants);
}

Result<Cells> ClippedCells(double low, double high, const Cells& x, ConstantTable* constants) {
  Cells y = x;
  if (high < kNoLimit) {
    PLUMB_ASSIGN_OR_RETURN(y, FunctionOfCells(fmt::format("at most {}", constants->Number(high)), x, constants));
  }
  if (low <= -kNoLimit) return y;
  return FunctionOfCells(low == 0 ? "ReLU" : fmt::format("at least {}", constants->Number(low)), y, constants);
}

Result<Cells> SwishOfCells(const Cells& x, ConstantTable* constants) {
  PLUMB_ASSIGN_OR_RETURN(const Cells gate, FunctionOfCells("Sigmoid", x, constants));
  return ProductOfCells(x, gate, x.shape());
}

Result<Cells> ConstantCells(double value, ConstantTable* constants) {
  PLUMB_ASSIGN_OR_RETURN(const Tensor number, Tensor::Create(DType::kF64, Shape()));
  Tensor holder = number;
  holder.data<double>()[0] = value;
  return constants->CellsOf(holder);
}

Result<std::vector<Cells>> TraceElements(const TracedLayer& traced) {
  std::vector<Cells> outputs;
  if (!IsElementWise(traced.layer.kind) || traced.outputs.size() != 1) return outputs;
  const bool binary = traced.inputs.size() == 2 || traced.layer.Resource("element") != nullptr;
  if (traced.inputs.size() == 1 && !binary) {
    PLUMB_ASSIGN_OR_RETURN(outputs.emplace_back(), UnaryCells(traced, traced.inputs[0]));
  } else if (binary && traced.layer.kind != OpKind::kHardSwish) {
    PLUMB_ASSIGN_OR_RETURN(outputs.emplace_back(), BinaryCells(traced));
  } else {
    PLUMB_ASSIGN_OR_RETURN(outputs.emplace_back(), MixedCells(traced, traced.inputs));
  }
  return outputs;
}

}  // namespace plumb
