// SPDX-License-Identifier: Apache-2.0
// Operators that give elements other dims or another order, or make tensors of shapes. What depends on the order of the
// elements in memory reads the file's order.
#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "format/tflite/op_context.h"
#include "format/tflite/translator.h"

namespace plumb::tflite {
namespace {

using Code = schema::BuiltinOperator;

// The order to read an input in whose elements are taken one after the other: where all dims but one are 1, the order
// that it is held in is as good as the file's.
Order OrderOfElements(const OpContext& c) {
  if (c.OrderOf(0) == Order::kFile) return Order::kFile;
  const Shape shape = c.InShape(0);
  const int64_t channels = shape[shape.rank() - 1], pixels = shape.Count(1, shape.rank() - 1);
  return channels == 1 || pixels == 1 ? Order::kFirst : Order::kFile;
}

Result<std::string> NewShape(OpContext& c) {
  if (c.Has(1) && !c.IsConstant(1)) return c.Raw(1, Order::kFile);
  if (c.Has(1)) {
    PLUMB_ASSIGN_OR_RETURN(const std::vector<int64_t> dims, c.Ints(1, "the shape"));
    return c.IntsConstant(dims);
  }
  const auto* options = c.op().builtin_options_as<schema::ReshapeOptions>();
  if (options != nullptr && options->new_shape() != nullptr)
    return c.IntsConstant({options->new_shape()->begin(), options->new_shape()->end()});
  return c.IntsConstant(c.OutShape().dims());
}

// RESHAPE, EXPAND_DIMS, SQUEEZE of a value whose elements have the file's order.
Result<std::string> WithOtherDims(OpContext& c, const std::string& x) {
  if (c.code() == Code::RESHAPE) {
    PLUMB_ASSIGN_OR_RETURN(const std::string shape, NewShape(c));
    return c.Emit("Reshape", {x, shape});
  }
  if (c.code() == Code::EXPAND_DIMS) {
    PLUMB_ASSIGN_OR_RETURN(const std::vector<int64_t> axes, c.Ints(1, "the axis"));
    PLUMB_ASSIGN_OR_RETURN(const std::string added, c.IntsConstant(axes));
    return c.Emit("Unsqueeze", {x, added});
  }
  const auto* options = c.op().builtin_options_as<schema::SqueezeOptions>();
  std::vector<std::string> inputs = {x};
  if (options != nullptr && options->squeeze_dims() != nullptr && options->squeeze_dims()->size() > 0) {
    PLUMB_ASSIGN_OR_RETURN(const std::string axes,
                           c.IntsConstant({options->squeeze_dims()->begin(), options->squeeze_dims()->end()}));
    inputs.push_back(axes);
  }
  return c.Emit("Squeeze", inputs);
}

}  // namespace

Status MapReshape(OpContext& c) {
  if (c.Input(0).type() == schema::TensorType::COMPLEX64) {
    PLUMB_ASSIGN_OR_RETURN(const auto parts, c.translator().ComplexPartsOf(c));
    PLUMB_ASSIGN_OR_RETURN(const std::string real, WithOtherDims(c, parts.first));
    PLUMB_ASSIGN_OR_RETURN(const std::string imaginary, WithOtherDims(c, parts.second));
    c.translator().complex()[{&c.writer(), c.OutputIndex(0)}] = {real, imaginary};
    return Status::Ok();
  }
  const Order order = c.code() == Code::RESHAPE ? OrderOfElements(c) : Order::kFile;
  PLUMB_ASSIGN_OR_RETURN(const std::string x, c.Moved(0, order));
  PLUMB_ASSIGN_OR_RETURN(const std::string y, WithOtherDims(c, x));
  return c.SetMoved(0, y, Order::kFile);
}

// Where the file turns what is held turned, nothing moves.
Status MapTranspose(OpContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const std::vector<int64_t> perm, c.Ints(1, "the order of the axes"));
  const int rank = c.Rank(0);
  std::vector<int64_t> sorted = perm;
  std::sort(sorted.begin(), sorted.end());
  for (int i = 0; i < rank; ++i) {
    if (static_cast<int>(perm.size()) != rank || sorted[static_cast<size_t>(i)] != i)
      return Status::CorruptModel(fmt::format("it orders {} axes of a tensor of {} dims", perm.size(), rank));
  }
  const Order from = c.OrderOf(0);
  std::vector<int64_t> plain(static_cast<size_t>(rank));
  std::iota(plain.begin(), plain.end(), 0);
  // Blob axis of the input for each blob axis of the output, held in `to`.
  const auto turn = [&](Order to) {
    std::vector<int64_t> axes;
    for (const int64_t axis : plain) {
      const int64_t out = to == Order::kFirst ? FirstAxes(rank)[static_cast<size_t>(axis)] : axis;
      const int64_t in = perm[static_cast<size_t>(out)];
      axes.push_back(from == Order::kFirst ? LastAxes(rank)[static_cast<size_t>(in)] : in);
    }
    return axes;
  };
  const Order to = turn(Order::kFirst) == plain ? Order::kFirst : Order::kFile;
  PLUMB_ASSIGN_OR_RETURN(const std::string x, c.Moved(0, from));
  const std::vector<int64_t> axes = turn(to);
  const std::string y =
      axes == plain ? c.Emit("Identity", {x}) : c.Emit("Transpose", {x}, {{"perm", IntsAttribute(axes)}});
  return c.SetMoved(0, y, to);
}

Status MapPack(OpContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const auto* options, c.Options<schema::PackOptions>());
  PLUMB_ASSIGN_OR_RETURN(const int axis, OpContext::AxisIn(Order::kFile, options->axis(), c.Rank(0) + 1));
  PLUMB_ASSIGN_OR_RETURN(const std::string added, c.IntsConstant({axis}));
  std::vector<std::string> parts;
  for (size_t i = 0; i < c.NumInputs(); ++i) {
    if (!c.Has(i)) return Status::CorruptModel(fmt::format("its input {} is left out", i));
    PLUMB_ASSIGN_OR_RETURN(const std::string x, c.Real(i, Order::kFile));
    parts.push_back(c.Emit("Unsqueeze", {x, added}));
  }
  return c.Set(0, c.Emit("Concat", parts, {{"axis", IntAttribute(axis)}}), Order::kFile);
}

Status MapUnpack(OpContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const auto* options, c.Options<schema::UnpackOptions>());
  PLUMB_ASSIGN_OR_RETURN(const int axis, OpContext::AxisIn(Order::kFile, options->axis(), c.Rank(0)));
  PLUMB_ASSIGN_OR_RETURN(const std::string x, c.Moved(0, Order::kFile));
  PLUMB_ASSIGN_OR_RETURN(const std::string dropped, c.IntsConstant({axis}));
  const auto count = static_cast<int64_t>(c.NumOutputs());
  const std::vector<std::string> parts = c.writer().EmitMany(
      "Split", {x}, c.NumOutputs(), {{"axis", IntAttribute(axis)}, {"num_outputs", IntAttribute(count)}});
  for (size_t i = 0; i < parts.size(); ++i)
    PLUMB_RETURN_IF_ERROR(c.SetMoved(i, c.Emit("Squeeze", {parts[i], dropped}), Order::kFile));
  return Status::Ok();
}

// SHAPE, RANK. Of what is held turned, too, the shape is the file's.
Status MapShapeOfInput(OpContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const std::string x, c.Raw(0, Order::kFile));
  std::string y = c.Emit("Shape", {x});
  if (c.code() == Code::RANK) y = c.Emit("Size", {y});
  return c.SetRaw(0, c.Emit("Cast", {y}, {{"to", IntAttribute(c.writer().TypeOf(c.OutputIndex(0)))}}), Order::kFile);
}

Status MapBroadcastTo(OpContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const std::string x, c.Moved(0, Order::kFile));
  PLUMB_ASSIGN_OR_RETURN(const std::string shape, c.Raw(1, Order::kFile));
  return c.SetMoved(0, c.Emit("Expand", {x, c.Emit("Cast", {shape}, {{"to", IntAttribute(onnx::kTypeInt64)}})}),
                    Order::kFile);
}

Status MapTile(OpContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const std::string x, c.Moved(0, Order::kFile));
  PLUMB_ASSIGN_OR_RETURN(const std::string times, c.Raw(1, Order::kFile));
  return c.SetMoved(0, c.Emit("Tile", {x, c.Emit("Cast", {times}, {{"to", IntAttribute(onnx::kTypeInt64)}})}),
                    Order::kFile);
}

Status MapFill(OpContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const std::string dims, c.Raw(0, Order::kFile));
  PLUMB_ASSIGN_OR_RETURN(const std::string value, c.Raw(1, Order::kFile));
  return c.SetRaw(0, c.Emit("Expand", {value, c.Emit("Cast", {dims}, {{"to", IntAttribute(onnx::kTypeInt64)}})}),
                  Order::kFile);
}

Status MapZerosLike(OpContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const std::string x, c.Raw(0, Order::kFile));
  PLUMB_ASSIGN_OR_RETURN(const std::string zero, c.Number(0));
  const std::string typed = c.Emit("CastLike", {zero, x});
  return c.SetRaw(0, c.Emit("Expand", {typed, c.Emit("Shape", {x})}), Order::kFile);
}

Status MapRange(OpContext& c) {
  std::vector<std::string> inputs;
  for (size_t i = 0; i < 3; ++i) {
    PLUMB_ASSIGN_OR_RETURN(const std::string x, c.Raw(i, Order::kFile));
    inputs.push_back(x);
  }
  return c.SetRaw(0, c.Emit("Range", inputs), Order::kFile);
}

}  // namespace plumb::tflite
