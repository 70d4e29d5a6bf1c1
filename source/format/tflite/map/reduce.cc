// SPDX-License-Identifier: Apache-2.0
// Operators along axes: reductions, softmax, norms, the place of an extreme, running sums.
#include <fmt/core.h>

#include <algorithm>

#include "format/tflite/op_context.h"

namespace plumb::tflite {
namespace {

using Code = schema::BuiltinOperator;

const char* ReduceName(Code code) {
  switch (code) {
    case Code::MEAN: return "ReduceMean";
    case Code::SUM: return "ReduceSum";
    case Code::REDUCE_PROD: return "ReduceProd";
    case Code::REDUCE_MAX:
    case Code::REDUCE_ANY: return "ReduceMax";
    default: return "ReduceMin";
  }
}

// Whether the dims that stay have the file's order, whatever order the input is held in.
bool StaysInOrder(int rank, const std::vector<int64_t>& file_axes) {
  int last = -1;
  for (const int axis : FirstAxes(rank)) {
    if (std::count(file_axes.begin(), file_axes.end(), axis) > 0) continue;
    if (axis < last) return false;
    last = axis;
  }
  return true;
}

// The order to reduce in, and where the axes are there.
Result<Order> PlaceAxes(const OpContext& c, bool keep, std::vector<int64_t>* axes) {
  const int rank = c.Rank(0);
  for (int64_t& axis : *axes) {
    PLUMB_ASSIGN_OR_RETURN(axis, OpContext::AxisIn(Order::kFile, axis, rank));
  }
  if (c.OrderOf(0) != Order::kFirst || (!keep && !StaysInOrder(rank, *axes))) return Order::kFile;
  for (int64_t& axis : *axes) {
    PLUMB_ASSIGN_OR_RETURN(axis, OpContext::AxisIn(Order::kFirst, axis, rank));
  }
  return Order::kFirst;
}

}  // namespace

Status MapReduce(OpContext& c) {
  const auto* options = c.op().builtin_options_as<schema::ReducerOptions>();
  const bool keep = options != nullptr && options->keep_dims();
  PLUMB_ASSIGN_OR_RETURN(std::vector<int64_t> axes, c.Ints(1, "the axes"));
  PLUMB_ASSIGN_OR_RETURN(const Order order, PlaceAxes(c, keep, &axes));
  PLUMB_ASSIGN_OR_RETURN(std::string x, c.Real(0, order));
  const bool logical = c.code() == Code::REDUCE_ANY || c.code() == Code::REDUCE_ALL;
  if (logical) x = c.Emit("Cast", {x}, {{"to", IntAttribute(onnx::kTypeInt32)}});
  std::vector<std::string> inputs = {x};
  PLUMB_ASSIGN_OR_RETURN(const std::string given, c.IntsConstant(axes));
  inputs.push_back(given);
  std::string y = c.Emit(ReduceName(c.code()), inputs,
                         {{"keepdims", IntAttribute(keep)}, {"noop_with_empty_axes", IntAttribute(1)}});
  if (logical) y = c.Emit("Cast", {y}, {{"to", IntAttribute(onnx::kTypeBool)}});
  return c.Set(0, y, keep ? order : Order::kFile);
}

Status MapArgExtreme(OpContext& c) {
  PLUMB_ASSIGN_OR_RETURN(std::vector<int64_t> axes, c.Ints(1, "the axis"));
  if (axes.size() != 1) return Status::CorruptModel(fmt::format("it has {} axes, expected 1", axes.size()));
  PLUMB_ASSIGN_OR_RETURN(const Order order, PlaceAxes(c, false, &axes));
  PLUMB_ASSIGN_OR_RETURN(const std::string x, c.Raw(0, order));
  const std::string place = c.Emit(c.code() == Code::ARG_MAX ? "ArgMax" : "ArgMin", {x},
                                   {{"axis", IntAttribute(axes[0])}, {"keepdims", IntAttribute(0)}});
  const int type = c.writer().TypeOf(c.OutputIndex(0));
  return c.SetRaw(0, c.Emit("Cast", {place}, {{"to", IntAttribute(type)}}), Order::kFile);
}

Status MapSoftmax(OpContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const auto* options, c.Options<schema::SoftmaxOptions>());
  const Order order = c.OrderOf(0);
  PLUMB_ASSIGN_OR_RETURN(const int axis, OpContext::AxisIn(order, -1, c.Rank(0)));
  PLUMB_ASSIGN_OR_RETURN(std::string x, c.Real(0, order));
  if (options->beta() != 1) {
    PLUMB_ASSIGN_OR_RETURN(const std::string beta, c.Number(options->beta()));
    x = c.Emit("Mul", {x, beta});
  }
  return c.Set(0, c.Emit("Softmax", {x}, {{"axis", IntAttribute(axis)}}), order);
}

Status MapLogSoftmax(OpContext& c) {
  const Order order = c.OrderOf(0);
  PLUMB_ASSIGN_OR_RETURN(const int axis, OpContext::AxisIn(order, -1, c.Rank(0)));
  PLUMB_ASSIGN_OR_RETURN(const std::string x, c.Real(0, order));
  return c.Set(0, c.Emit("LogSoftmax", {x}, {{"axis", IntAttribute(axis)}}), order);
}

// x / max(root of the sum of squares along the channels, 1e-6).
Status MapL2Normalization(OpContext& c) {
  const auto* options = c.op().builtin_options_as<schema::L2NormOptions>();
  const Order order = c.OrderOf(0);
  PLUMB_ASSIGN_OR_RETURN(const int axis, OpContext::AxisIn(order, -1, c.Rank(0)));
  PLUMB_ASSIGN_OR_RETURN(const std::string x, c.Real(0, order));
  PLUMB_ASSIGN_OR_RETURN(const std::string axes, c.IntsConstant({axis}));
  PLUMB_ASSIGN_OR_RETURN(const std::string least, c.Number(1e-6f));
  const std::string sum = c.Emit("ReduceSum", {c.Emit("Mul", {x, x}), axes}, {{"keepdims", IntAttribute(1)}});
  const std::string y = c.Emit("Div", {x, c.Emit("Max", {c.Emit("Sqrt", {sum}), least})});
  return c.Set(0, y, order, options == nullptr ? schema::Activation::NONE : options->fused_activation_function());
}

// x (bias + alpha sum of squares)^-beta; ONNX divides alpha by the number of channels in the window.
Status MapLocalResponse(OpContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const auto* options, c.Options<schema::LocalResponseNormalizationOptions>());
  if (options->radius() < 0 || options->radius() > 1 << 20)
    return Status::CorruptModel(fmt::format("its radius is {}", options->radius()));
  const int size = 2 * options->radius() + 1;
  PLUMB_ASSIGN_OR_RETURN(const std::string x, c.Real(0, Order::kFirst));
  const std::string y = c.Emit("LRN", {x},
                               {{"size", IntAttribute(size)},
                                {"alpha", FloatAttribute(options->alpha() * static_cast<float>(size))},
                                {"beta", FloatAttribute(options->beta())},
                                {"bias", FloatAttribute(options->bias())}});
  return c.Set(0, y, Order::kFirst);
}

Status MapCumsum(OpContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const auto* options, c.Options<schema::CumsumOptions>());
  PLUMB_ASSIGN_OR_RETURN(const std::string x, c.Real(0, Order::kFile));
  PLUMB_ASSIGN_OR_RETURN(const std::string axis, c.Raw(1, Order::kFile));
  return c.Set(
      0,
      c.Emit("CumSum", {x, axis},
             {{"exclusive", IntAttribute(options->exclusive())}, {"reverse", IntAttribute(options->reverse())}}),
      Order::kFile);
}

}  // namespace plumb::tflite
