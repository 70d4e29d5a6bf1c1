// SPDX-License-Identifier: Apache-2.0
// Operators that are a comparison and a choice: Trilu, Hardmax, OneHot, IsNaN, IsInf, BitShift.
#include <fmt/core.h>

#include <cmath>

#include "format/onnx/node_context.h"
#include "op/arg_max.h"
#include "op/bitwise.h"
#include "op/trilu.h"

namespace plumb::onnx {
namespace {

Result<Value> Scalar(NodeContext& c, int64_t value, DType dtype) {
  PLUMB_ASSIGN_OR_RETURN(const Tensor list, IntTensor({value}));
  PLUMB_ASSIGN_OR_RETURN(const Tensor scalar, list.Reshaped(Shape{}));
  PLUMB_ASSIGN_OR_RETURN(const Tensor converted, scalar.ConvertedTo(dtype));
  return c.Const(converted);
}

// 0, 1, 2, ... along the axis of a shape that is 1 elsewhere.
Result<Value> Ruler(NodeContext& c, int rank, int axis, int64_t count) {
  std::vector<int64_t> dims(static_cast<size_t>(rank), 1);
  dims[static_cast<size_t>(axis)] = count;
  return c.Positions(Shape(dims), axis);
}

}  // namespace

// The mask is known when k is; otherwise one PlumbTrilu.
Status MapTrilu(NodeContext& c) {
  if (c.Has(1) && c.Known(1) == nullptr) {
    auto param = std::make_shared<TriluParam>();
    param->upper = c.Int("upper", 1) != 0;
    return c.EmitOutput(OpKind::kPlumbTrilu, param, {c.In(0), c.In(1)});
  }
  const Shape& shape = c.ShapeOf(0);
  if (shape.rank() < 2) return Status::CorruptModel("expects a matrix, found " + shape.ToString());
  int64_t k = 0;
  if (c.Has(1)) {
    PLUMB_ASSIGN_OR_RETURN(const std::vector<int64_t> values, c.Ints(1, "k"));
    if (values.size() != 1) return Status::CorruptModel("k must be one value");
    k = values[0];
  }
  if (shape.NumElements() == 0) {
    c.Set(0, c.In(0));
    return Status::Ok();
  }
  const bool upper = c.Int("upper", 1) != 0;
  const int64_t rows = shape[shape.rank() - 2], columns = shape[shape.rank() - 1];
  PLUMB_RETURN_IF_ERROR(c.builder().Reserve(DType::kBool, Shape{rows, columns}));
  PLUMB_ASSIGN_OR_RETURN(Tensor mask, Tensor::Create(DType::kBool, Shape{rows, columns}));
  for (int64_t i = 0; i < mask.NumElements(); ++i) {
    const int64_t above = i % columns - i / columns;
    mask.data<bool>()[i] = upper ? above >= k : above <= k;
  }
  PLUMB_ASSIGN_OR_RETURN(const Value zero, Scalar(c, 0, c.DTypeOf(0)));
  PLUMB_ASSIGN_OR_RETURN(const Value y, c.Select(c.Const(mask), c.In(0), zero));
  c.Set(0, y);
  return Status::Ok();
}

// 1 at the first largest element of each row, else 0. Before opset 13 a row is all dims from the axis on.
Status MapHardmax(NodeContext& c) {
  const Shape in = c.ShapeOf(0);
  const bool rows = c.opset() < 13;
  PLUMB_ASSIGN_OR_RETURN(int axis, NormalizeAxis(static_cast<int>(c.Int("axis", rows ? 1 : -1)), in.rank()));
  Value x = c.In(0);
  if (rows) {
    PLUMB_ASSIGN_OR_RETURN(x, c.Reshape(x, {in.Count(0, axis), in.CountFrom(axis)}));
    axis = 1;
  }
  auto param = std::make_shared<ArgMaxParam>();
  param->axis = axis;
  PLUMB_ASSIGN_OR_RETURN(const Value narrow, c.Emit(OpKind::kArgMaxOrMin, param, {x}));
  PLUMB_ASSIGN_OR_RETURN(const Value index, c.CastTo(narrow, DType::kI64));
  PLUMB_ASSIGN_OR_RETURN(const Value ruler, Ruler(c, c.ShapeOf(x).rank(), axis, c.ShapeOf(x)[axis]));
  PLUMB_ASSIGN_OR_RETURN(const Value hit, c.Emit(OpKind::kEqual, nullptr, {index, ruler}));
  PLUMB_ASSIGN_OR_RETURN(Value y, c.CastTo(hit, c.DTypeOf(0)));
  PLUMB_ASSIGN_OR_RETURN(y, c.Reshape(y, in.dims()));
  c.Set(0, y);
  return Status::Ok();
}

// Indices count from the end when negative; one that is outside gives a row without a hit.
Status MapOneHot(NodeContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const Tensor depths, c.Constant(1, "the depth"));
  if (depths.NumElements() != 1 || !(depths.ValueAt(0) >= 0 && depths.ValueAt(0) < 1e9))
    return Status::CorruptModel("the depth must be one whole number");
  const auto depth = static_cast<int64_t>(depths.ValueAt(0));
  const int rank = c.Rank(0) + 1;
  PLUMB_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(static_cast<int>(c.Int("axis", -1)), rank));
  PLUMB_ASSIGN_OR_RETURN(const Value index, c.CastTo(c.In(0), DType::kI64));
  PLUMB_ASSIGN_OR_RETURN(const Value zero, Scalar(c, 0, DType::kI64));
  PLUMB_ASSIGN_OR_RETURN(const Value count, Scalar(c, depth, DType::kI64));
  PLUMB_ASSIGN_OR_RETURN(const Value negative, c.Emit(OpKind::kLess, nullptr, {index, zero}));
  PLUMB_ASSIGN_OR_RETURN(const Value from_end, c.Binary(OpKind::kAdd, index, count));
  PLUMB_ASSIGN_OR_RETURN(const Value position, c.Select(negative, from_end, index));
  PLUMB_ASSIGN_OR_RETURN(const Value column, c.Unsqueeze(position, axis));
  PLUMB_ASSIGN_OR_RETURN(const Value ruler, Ruler(c, rank, axis, depth));
  PLUMB_ASSIGN_OR_RETURN(const Value hit, c.Emit(OpKind::kEqual, nullptr, {column, ruler}));
  PLUMB_ASSIGN_OR_RETURN(const Value off, c.Cut(c.In(2), 0, 0, 1, true));
  PLUMB_ASSIGN_OR_RETURN(const Value on, c.Cut(c.In(2), 0, 1, 2, true));
  PLUMB_ASSIGN_OR_RETURN(const Value y, c.Select(hit, on, off));
  c.Set(0, y, c.In(2).type);
  return Status::Ok();
}

// x != x
Status MapIsNaN(NodeContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const Value same, c.Emit(OpKind::kEqual, nullptr, {c.In(0), c.In(0)}));
  return c.EmitOutput(OpKind::kNot, nullptr, {same});
}

Status MapIsInf(NodeContext& c) {
  const bool negative = c.Int("detect_negative", 1) != 0, positive = c.Int("detect_positive", 1) != 0;
  Value x = c.In(0);
  float infinity = INFINITY;
  if (negative && positive) {
    PLUMB_ASSIGN_OR_RETURN(x, c.Emit(OpKind::kAbs, nullptr, {x}));
  } else if (negative) {
    infinity = -INFINITY;
  } else if (!positive) {
    infinity = NAN;  // equals nothing
  }
  return c.EmitOutput(OpKind::kEqual, nullptr, {x, c.ConstFloat(infinity, c.DTypeOf(0))});
}

// PlumbBitShift fills with zeros, and shifts all bits out where the distance is outside the width. The bits of a
// negative signed value are turned before a right shift and after it: the vacated ones are copies of the sign, -1 when
// all are.
Status MapBitShift(NodeContext& c) {
  const std::string direction = c.Text("direction", "");
  if (direction != "LEFT" && direction != "RIGHT")
    return Status::CorruptModel(fmt::format("direction must be LEFT or RIGHT, found '{}'", direction));
  auto param = std::make_shared<BitShiftParam>();
  param->left = direction == "LEFT";
  const int type = c.In(0).type;
  const bool is_signed = type == kTypeInt8 || type == kTypeInt16 || type == kTypeInt32 || type == kTypeInt64;
  Value x = c.In(0), turn;
  if (is_signed && !param->left) {
    PLUMB_ASSIGN_OR_RETURN(const Value zero, Scalar(c, 0, c.DTypeOf(0)));
    PLUMB_ASSIGN_OR_RETURN(const Value ones, Scalar(c, -1, c.DTypeOf(0)));
    PLUMB_ASSIGN_OR_RETURN(const Value negative, c.Emit(OpKind::kLess, nullptr, {x, zero}));
    PLUMB_ASSIGN_OR_RETURN(turn, c.Select(negative, ones, zero));
    PLUMB_ASSIGN_OR_RETURN(x, c.Emit(OpKind::kPlumbBitwiseXor, nullptr, {x, turn}));
  }
  PLUMB_ASSIGN_OR_RETURN(Value y, c.Emit(OpKind::kPlumbBitShift, param, {x, c.In(1)}));
  if (turn.present()) {
    PLUMB_ASSIGN_OR_RETURN(y, c.Emit(OpKind::kPlumbBitwiseXor, nullptr, {y, turn}));
  }
  PLUMB_ASSIGN_OR_RETURN(y, c.Wrap(y, type));
  c.Set(0, y, type);
  return Status::Ok();
}

}  // namespace plumb::onnx
