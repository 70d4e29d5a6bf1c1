// SPDX-License-Identifier: Apache-2.0
// Operators that write by index, find indices or reverse parts.
#include <fmt/core.h>

#include "format/tflite/op_context.h"

namespace plumb::tflite {
namespace {

Result<std::string> AsInt64(OpContext& c, size_t i) {
  PLUMB_ASSIGN_OR_RETURN(const std::string value, c.Raw(i, Order::kFile));
  return c.Emit("Cast", {value}, {{"to", IntAttribute(onnx::kTypeInt64)}});
}

}  // namespace

// Zeros of the given shape to which the updates are added.
Status MapScatterNd(OpContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const std::string indices, AsInt64(c, 0));
  PLUMB_ASSIGN_OR_RETURN(const std::string updates, c.Real(1, Order::kFile));
  PLUMB_ASSIGN_OR_RETURN(const std::vector<int64_t> dims, c.Ints(2, "the shape"));
  for (const int64_t dim : dims) {
    if (dim < 0 || dim > INT32_MAX) return Status::CorruptModel(fmt::format("its shape has the dim {}", dim));
  }
  PLUMB_ASSIGN_OR_RETURN(const std::string shape, c.IntsConstant(dims));
  PLUMB_ASSIGN_OR_RETURN(const Tensor zero, Tensor::Zeros(c.IsReal(1) ? DType::kF32 : DType::kI64, Shape{}));
  const int type = c.IsReal(1) ? onnx::kTypeFloat : c.writer().TypeOf(c.InputIndex(1));
  const std::string zeros = c.Emit("Expand", {c.writer().Constant(zero, type, "zero"), shape});
  return c.Set(0, c.Emit("ScatterND", {zeros, indices, updates}, {{"reduction", TextAttribute("add")}}), Order::kFile);
}

// The operand with the update in place of a part that begins at given indices, moved so that it lies inside.
Status MapDynamicUpdateSlice(OpContext& c) {
  constexpr int64_t kMostIndices = 1 << 22;
  const Shape whole = c.InShape(0), part = c.InShape(1);
  const int rank = whole.rank();
  if (part.rank() != rank || c.Rank(2) != 1 || c.InShape(2)[0] != rank || rank == 0)
    return Status::CorruptModel(
        fmt::format("it puts {} into {} at {} indices", part.ToString(), whole.ToString(), c.InShape(2).ToString()));
  std::vector<int64_t> last;  // where it may begin at most
  for (int axis = 0; axis < rank; ++axis) {
    if (part[axis] > whole[axis] || part[axis] < 1)
      return Status::CorruptModel(fmt::format("it puts {} into {}", part.ToString(), whole.ToString()));
    last.push_back(whole[axis] - part[axis]);
  }
  const int64_t rows = part.Count(0, rank - 1), row = part[rank - 1];
  if (rows > kMostIndices / rank || rows * row > kMostIndices / rank)
    return Status::NotSupported(fmt::format("an update of {} elements", part.NumElements()));
  std::vector<int64_t> indices;
  for (int64_t i = 0; i < part.NumElements(); ++i) {
    for (int axis = 0; axis < rank; ++axis) indices.push_back(i / part.CountFrom(axis + 1) % part[axis]);
  }
  PLUMB_ASSIGN_OR_RETURN(const std::string begin, AsInt64(c, 2));
  PLUMB_ASSIGN_OR_RETURN(const std::string zero, c.writer().Ints({0}, true));
  PLUMB_ASSIGN_OR_RETURN(const std::string limits, c.IntsConstant(last));
  const std::string inside = c.Emit("Min", {c.Emit("Max", {begin, zero}), limits});
  PLUMB_ASSIGN_OR_RETURN(const std::string flat, c.IntsConstant(indices));
  PLUMB_ASSIGN_OR_RETURN(const std::string pairs, c.IntsConstant({part.NumElements(), rank}));
  PLUMB_ASSIGN_OR_RETURN(const std::string line, c.IntsConstant({part.NumElements()}));
  const std::string places = c.Emit("Add", {c.Emit("Reshape", {flat, pairs}), inside});
  PLUMB_ASSIGN_OR_RETURN(const std::string x, c.Moved(0, Order::kFile));
  PLUMB_ASSIGN_OR_RETURN(const std::string update, c.SameGrid(0, 0) ? c.Raw(1, Order::kFile) : c.Real(1, Order::kFile));
  const std::string y = c.Emit("ScatterND", {x, places, c.Emit("Reshape", {update, line})});
  return c.SetMoved(0, y, Order::kFile);
}

// The values in the order in which they come first, and of each element where its value stands among them.
Status MapUnique(OpContext& c) {
  if (c.Rank(0) != 1) return Status::CorruptModel(fmt::format("its input is {}", c.InShape(0).ToString()));
  PLUMB_ASSIGN_OR_RETURN(const std::string x, c.Moved(0, Order::kFile));
  const std::vector<std::string> found = c.writer().EmitMany("Unique", {x}, 4, {{"sorted", IntAttribute(0)}});
  PLUMB_RETURN_IF_ERROR(c.SetMoved(0, found[0], Order::kFile));
  const int type = c.writer().TypeOf(c.OutputIndex(1));
  return c.SetRaw(1, c.Emit("Cast", {found[2]}, {{"to", IntAttribute(type)}}), Order::kFile);
}

// The indices of what is not zero, one row for each.
Status MapWhere(OpContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const std::string x, c.Raw(0, Order::kFile));
  const std::string found = c.Emit("Transpose", {c.Emit("NonZero", {x})}, {{"perm", IntsAttribute({1, 0})}});
  return c.SetRaw(0, found, Order::kFile);
}

// Of each entry of the batch its first so many steps, reversed.
Status MapReverseSequence(OpContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const auto* options, c.Options<schema::ReverseSequenceOptions>());
  const int rank = c.Rank(0);
  PLUMB_ASSIGN_OR_RETURN(const int batch, OpContext::AxisIn(Order::kFile, options->batch_dim(), rank));
  PLUMB_ASSIGN_OR_RETURN(const int time, OpContext::AxisIn(Order::kFile, options->seq_dim(), rank));
  if (batch == time) return Status::CorruptModel(fmt::format("its batch and its steps are both axis {}", batch));
  std::vector<int64_t> perm = {batch, time}, back(static_cast<size_t>(rank));
  for (int axis = 0; axis < rank; ++axis) {
    if (axis != batch && axis != time) perm.push_back(axis);
  }
  for (size_t i = 0; i < perm.size(); ++i) back[static_cast<size_t>(perm[i])] = static_cast<int64_t>(i);
  PLUMB_ASSIGN_OR_RETURN(const std::string x, c.Moved(0, Order::kFile));
  PLUMB_ASSIGN_OR_RETURN(const std::string lengths, AsInt64(c, 1));
  const std::string turned = c.Emit("Transpose", {x}, {{"perm", IntsAttribute(perm)}});
  const std::string reversed =
      c.Emit("ReverseSequence", {turned, lengths}, {{"batch_axis", IntAttribute(0)}, {"time_axis", IntAttribute(1)}});
  return c.SetMoved(0, c.Emit("Transpose", {reversed}, {{"perm", IntsAttribute(back)}}), Order::kFile);
}

}  // namespace plumb::tflite
