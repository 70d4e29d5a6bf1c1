// SPDX-License-Identifier: Apache-2.0
// Tensors put together and taken apart.
#include <fmt/core.h>

#include <cstdint>

#include "format/tflite/op_context.h"

namespace plumb::tflite {
namespace {

struct Cuts {
  std::vector<int64_t> starts, ends, axes, steps;
};

Result<std::string> Cut(OpContext& c, const std::string& x, const Cuts& cuts) {
  PLUMB_ASSIGN_OR_RETURN(const std::string starts, c.IntsConstant(cuts.starts));
  PLUMB_ASSIGN_OR_RETURN(const std::string ends, c.IntsConstant(cuts.ends));
  PLUMB_ASSIGN_OR_RETURN(const std::string axes, c.IntsConstant(cuts.axes));
  PLUMB_ASSIGN_OR_RETURN(const std::string steps, c.IntsConstant(cuts.steps));
  return c.Emit("Slice", {x, starts, ends, axes, steps});
}

Status SplitAlong(OpContext& c, size_t input, int64_t file_axis, const std::vector<int64_t>& sizes) {
  const Order order = c.OrderOf(input);
  PLUMB_ASSIGN_OR_RETURN(const int axis, OpContext::AxisIn(order, file_axis, c.Rank(input)));
  PLUMB_ASSIGN_OR_RETURN(const std::string x, c.Real(input, order));
  onnx::AttributeMap attributes = {{"axis", IntAttribute(axis)}};
  std::vector<std::string> inputs = {x};
  if (sizes.empty()) {
    attributes["num_outputs"] = IntAttribute(static_cast<int64_t>(c.NumOutputs()));
  } else {
    PLUMB_ASSIGN_OR_RETURN(const std::string given, c.IntsConstant(sizes));
    inputs.push_back(given);
  }
  const std::vector<std::string> parts = c.writer().EmitMany("Split", inputs, c.NumOutputs(), attributes);
  for (size_t i = 0; i < parts.size(); ++i) PLUMB_RETURN_IF_ERROR(c.Set(i, parts[i], order));
  return Status::Ok();
}

Result<int64_t> OneInt(OpContext& c, size_t i, const char* what) {
  PLUMB_ASSIGN_OR_RETURN(const std::vector<int64_t> values, c.Ints(i, what));
  if (values.size() != 1) return Status::CorruptModel(fmt::format("{} has {} values, expected 1", what, values.size()));
  return values[0];
}

// SLICE whose begin or size is computed; a size of -1 goes to the end.
Status SliceOfComputedSize(OpContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const std::string x, c.Moved(0, Order::kFile));
  std::vector<std::string> wide;
  for (size_t i = 1; i < 3; ++i) {
    PLUMB_ASSIGN_OR_RETURN(const std::string value, c.Raw(i, Order::kFile));
    wide.push_back(c.Emit("Cast", {value}, {{"to", IntAttribute(onnx::kTypeInt64)}}));
  }
  PLUMB_ASSIGN_OR_RETURN(const std::string zero, c.IntsConstant({0}));
  PLUMB_ASSIGN_OR_RETURN(const std::string open, c.IntsConstant({INT64_MAX}));
  const std::string end = c.Emit("Where", {c.Emit("Less", {wide[1], zero}), open, c.Emit("Add", {wide[0], wide[1]})});
  return c.SetMoved(0, c.Emit("Slice", {x, wide[0], end}), Order::kFile);
}

// STRIDED_SLICE where begin or end are computed, of shapes for instance: the importer knows them then.
Status SliceAtRunTime(OpContext& c, const schema::StridedSliceOptions& o) {
  const auto count = static_cast<size_t>(ShapeOf(c.Input(3)).NumElements());
  if (o.ellipsis_mask() != 0 || o.new_axis_mask() != 0 || o.offset() || count > 31)
    return Status::NotSupported("its begin and end are computed, and its masks add dims");
  PLUMB_ASSIGN_OR_RETURN(const std::vector<int64_t> steps, c.Ints(3, "the strides"));
  std::vector<int64_t> axes, first, last, dropped;
  for (size_t i = 0; i < count; ++i) {
    axes.push_back(static_cast<int64_t>(i));
    first.push_back(steps[i] > 0 ? 0 : INT64_MAX);
    last.push_back(steps[i] > 0 ? INT64_MAX : INT64_MIN);
    if ((o.shrink_axis_mask() >> i & 1) != 0) dropped.push_back(static_cast<int64_t>(i));
  }
  const auto flags = [&](int mask) -> Result<std::string> {
    PLUMB_ASSIGN_OR_RETURN(Tensor set, Tensor::Create(DType::kBool, Shape{static_cast<int64_t>(count)}));
    for (size_t i = 0; i < count; ++i) set.data<bool>()[i] = (mask >> i & 1) != 0;
    return c.writer().Constant(set, onnx::kTypeBool);
  };
  const auto wide = [&](size_t i) -> Result<std::string> {
    PLUMB_ASSIGN_OR_RETURN(const std::string value, c.Raw(i, Order::kFile));
    return c.Emit("Cast", {value}, {{"to", IntAttribute(onnx::kTypeInt64)}});
  };
  PLUMB_ASSIGN_OR_RETURN(std::string begin, wide(1));
  PLUMB_ASSIGN_OR_RETURN(std::string end, wide(2));
  PLUMB_ASSIGN_OR_RETURN(const std::string one, c.IntsConstant({1}));
  PLUMB_ASSIGN_OR_RETURN(const std::string open_begin, flags(o.begin_mask() & ~o.shrink_axis_mask()));
  PLUMB_ASSIGN_OR_RETURN(const std::string open_end, flags(o.end_mask() & ~o.shrink_axis_mask()));
  PLUMB_ASSIGN_OR_RETURN(const std::string single, flags(o.shrink_axis_mask()));
  PLUMB_ASSIGN_OR_RETURN(const std::string from, c.IntsConstant(first));
  PLUMB_ASSIGN_OR_RETURN(const std::string to, c.IntsConstant(last));
  PLUMB_ASSIGN_OR_RETURN(const std::string along, c.IntsConstant(axes));
  PLUMB_ASSIGN_OR_RETURN(const std::string by, c.IntsConstant(steps));
  end = c.Emit("Where", {single, c.Emit("Add", {begin, one}), end});
  begin = c.Emit("Where", {open_begin, from, begin});
  end = c.Emit("Where", {open_end, to, end});
  PLUMB_ASSIGN_OR_RETURN(const std::string x, c.Moved(0, Order::kFile));
  std::string y = c.Emit("Slice", {x, begin, end, along, by});
  if (!dropped.empty()) {
    PLUMB_ASSIGN_OR_RETURN(const std::string dims, c.IntsConstant(dropped));
    y = c.Emit("Squeeze", {y, dims});
  }
  return c.SetMoved(0, y, Order::kFile);
}

}  // namespace

Status MapConcatenation(OpContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const auto* options, c.Options<schema::ConcatenationOptions>());
  const Order order = c.CommonOrder(c.Rank(0));
  PLUMB_ASSIGN_OR_RETURN(const int axis, OpContext::AxisIn(order, options->axis(), c.Rank(0)));
  bool same = true;
  for (size_t i = 0; i < c.NumInputs(); ++i) {
    if (!c.Has(i)) return Status::CorruptModel(fmt::format("its input {} is left out", i));
    same = same && c.SameGrid(i, 0);
  }
  std::vector<std::string> parts;
  for (size_t i = 0; i < c.NumInputs(); ++i) {
    PLUMB_ASSIGN_OR_RETURN(const std::string part, same ? c.Raw(i, order) : c.Real(i, order));
    parts.push_back(part);
  }
  const std::string y = c.Emit("Concat", parts, {{"axis", IntAttribute(axis)}});
  if (same && options->fused_activation_function() == schema::Activation::NONE) return c.SetRaw(0, y, order);
  return c.Set(0, y, order, options->fused_activation_function());
}

Status MapSplit(OpContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const int64_t axis, OneInt(c, 0, "the axis"));
  return SplitAlong(c, 1, axis, {});
}

Status MapSplitV(OpContext& c) {
  PLUMB_ASSIGN_OR_RETURN(std::vector<int64_t> sizes, c.Ints(1, "the sizes"));
  PLUMB_ASSIGN_OR_RETURN(const int64_t axis, OneInt(c, 2, "the axis"));
  PLUMB_ASSIGN_OR_RETURN(const int at, OpContext::AxisIn(Order::kFile, axis, c.Rank(0)));
  int64_t rest = c.InShape(0)[at];
  for (const int64_t size : sizes) rest -= size < 0 ? 0 : size;
  for (int64_t& size : sizes) size = size < 0 ? rest : size;
  return SplitAlong(c, 0, axis, sizes);
}

Status MapSlice(OpContext& c) {
  const Order order = c.OrderOf(0);
  PLUMB_ASSIGN_OR_RETURN(const std::string x, c.Moved(0, order));
  if (!c.IsConstant(1) || !c.IsConstant(2)) return SliceOfComputedSize(c);
  PLUMB_ASSIGN_OR_RETURN(const std::vector<int64_t> begin, c.Ints(1, "the begin"));
  PLUMB_ASSIGN_OR_RETURN(const std::vector<int64_t> size, c.Ints(2, "the size"));
  if (begin.size() != size.size() || static_cast<int>(begin.size()) != c.Rank(0)) {
    return Status::CorruptModel(fmt::format("it begins at {} and takes {} numbers of a tensor of {} dims", begin.size(),
                                            size.size(), c.Rank(0)));
  }
  Cuts cuts;
  for (size_t i = 0; i < begin.size(); ++i) {
    PLUMB_ASSIGN_OR_RETURN(const int axis, OpContext::AxisIn(order, static_cast<int64_t>(i), c.Rank(0)));
    if (begin[i] < 0 || size[i] < -1 || begin[i] > INT32_MAX || size[i] > INT32_MAX)
      return Status::CorruptModel(fmt::format("it takes {} from {} on", size[i], begin[i]));
    cuts.starts.push_back(begin[i]);
    cuts.ends.push_back(size[i] < 0 ? INT64_MAX : begin[i] + size[i]);
    cuts.axes.push_back(axis);
    cuts.steps.push_back(1);
  }
  PLUMB_ASSIGN_OR_RETURN(const std::string y, Cut(c, x, cuts));
  return c.SetMoved(0, y, order);
}

// Bit i of a mask speaks of entry i: 'begin' and 'end' leave the side open, 'shrink' takes one element and drops the
// dim, 'new axis' adds a dim of 1, 'ellipsis' stands for all dims that no other entry names.
Status MapStridedSlice(OpContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const auto* o, c.Options<schema::StridedSliceOptions>());
  if (!c.IsConstant(1) || !c.IsConstant(2)) return SliceAtRunTime(c, *o);
  PLUMB_ASSIGN_OR_RETURN(const std::vector<int64_t> begin, c.Ints(1, "the begin"));
  PLUMB_ASSIGN_OR_RETURN(const std::vector<int64_t> end, c.Ints(2, "the end"));
  PLUMB_ASSIGN_OR_RETURN(const std::vector<int64_t> steps, c.Ints(3, "the strides"));
  const size_t count = begin.size();
  if (end.size() != count || steps.size() != count || count > 31)
    return Status::CorruptModel(fmt::format("it has {} begins, {} ends, {} strides", count, end.size(), steps.size()));
  const auto bit = [](int mask, size_t i) { return (mask >> i & 1) != 0; };
  int named = 0;
  for (size_t i = 0; i < count; ++i) named += !bit(o->ellipsis_mask(), i) && !bit(o->new_axis_mask(), i);
  const bool moves = o->shrink_axis_mask() != 0 || o->new_axis_mask() != 0;
  const Order order = moves ? Order::kFile : c.OrderOf(0);
  Cuts cuts;
  std::vector<int64_t> dropped, added;
  int at = 0, out = 0;
  for (size_t i = 0; i < count; ++i) {
    if (bit(o->ellipsis_mask(), i)) {
      at += c.Rank(0) - named;
      out += c.Rank(0) - named;
      continue;
    }
    if (bit(o->new_axis_mask(), i)) {
      added.push_back(out++);
      continue;
    }
    const bool shrink = bit(o->shrink_axis_mask(), i);
    PLUMB_ASSIGN_OR_RETURN(const int axis, OpContext::AxisIn(order, at, c.Rank(0)));
    const int64_t stop = o->offset() ? begin[i] + end[i] : end[i];
    cuts.axes.push_back(axis);
    cuts.steps.push_back(shrink ? 1 : steps[i]);
    cuts.starts.push_back(bit(o->begin_mask(), i) && !shrink ? (steps[i] > 0 ? 0 : INT64_MAX) : begin[i]);
    cuts.ends.push_back(shrink                  ? (begin[i] == -1 ? INT64_MAX : begin[i] + 1)
                        : bit(o->end_mask(), i) ? (steps[i] > 0 ? INT64_MAX : INT64_MIN)
                                                : stop);
    if (shrink) dropped.push_back(at);
    out += !shrink;
    ++at;
  }
  PLUMB_ASSIGN_OR_RETURN(const std::string x, c.Moved(0, order));
  PLUMB_ASSIGN_OR_RETURN(std::string y, Cut(c, x, cuts));
  if (!dropped.empty()) {
    PLUMB_ASSIGN_OR_RETURN(const std::string axes, c.IntsConstant(dropped));
    y = c.Emit("Squeeze", {y, axes});
  }
  if (!added.empty()) {
    PLUMB_ASSIGN_OR_RETURN(const std::string axes, c.IntsConstant(added));
    y = c.Emit("Unsqueeze", {y, axes});
  }
  return c.SetMoved(0, y, order);
}

Status MapReverse(OpContext& c) {
  const Order order = c.OrderOf(0);
  PLUMB_ASSIGN_OR_RETURN(const std::vector<int64_t> axes, c.Ints(1, "the axes"));
  Cuts cuts;
  for (const int64_t given : axes) {
    PLUMB_ASSIGN_OR_RETURN(const int axis, OpContext::AxisIn(order, given, c.Rank(0)));
    cuts.axes.push_back(axis);
    cuts.starts.push_back(-1);
    cuts.ends.push_back(INT64_MIN);
    cuts.steps.push_back(-1);
  }
  PLUMB_ASSIGN_OR_RETURN(const std::string x, c.Moved(0, order));
  PLUMB_ASSIGN_OR_RETURN(const std::string y, Cut(c, x, cuts));
  return c.SetMoved(0, y, order);
}

}  // namespace plumb::tflite
