// SPDX-License-Identifier: Apache-2.0
// Operators whose output's shape depends on values, which must be known when the model is loaded; and ReverseSequence,
// whose lengths may become known when the network runs.
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "format/onnx/node_context.h"
#include "op/gather.h"
#include "op/reverse_sequence.h"

namespace plumb::onnx {
namespace {

// Rows of `data` (split at the axis) in another order or fewer of them.
Result<Value> TakeRows(NodeContext& c, const Value& data, int axis, const std::vector<int64_t>& rows) {
  auto param = std::make_shared<GatherParam>();
  param->axis = axis;
  param->indices_in_resource = false;
  PLUMB_ASSIGN_OR_RETURN(Value y, c.Emit(OpKind::kGather, param, {data, c.ConstInts(rows)}));
  y.type = data.type;
  return y;
}

}  // namespace

Status MapCompress(NodeContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const std::vector<int64_t> condition, c.Ints(1, "the condition"));
  std::vector<int64_t> rows;
  for (size_t i = 0; i < condition.size(); ++i) {
    if (condition[i] != 0) rows.push_back(static_cast<int64_t>(i));
  }
  Value data = c.In(0);
  int axis = 0;
  if (c.HasAttribute("axis")) {
    PLUMB_ASSIGN_OR_RETURN(axis, NormalizeAxis(static_cast<int>(c.Int("axis", 0)), c.Rank(0)));
  } else {
    PLUMB_ASSIGN_OR_RETURN(data, c.Reshape(data, {c.ShapeOf(0).NumElements()}));
  }
  PLUMB_ASSIGN_OR_RETURN(const Value y, TakeRows(c, data, axis, rows));
  c.Set(0, y);
  return Status::Ok();
}

Status MapNonZero(NodeContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const Tensor x, c.Constant(0, "the values"));
  const Shape& shape = x.shape();
  const int rank = std::max(shape.rank(), 1);
  std::vector<int64_t> hits;
  for (int64_t i = 0; i < x.NumElements(); ++i) {
    if (x.ValueAt(i) != 0) hits.push_back(i);
  }
  const auto count = static_cast<int64_t>(hits.size());
  PLUMB_RETURN_IF_ERROR(c.builder().Reserve(DType::kI64, Shape{rank, count}));
  PLUMB_ASSIGN_OR_RETURN(Tensor y, Tensor::Create(DType::kI64, Shape{rank, count}));
  for (int d = 0; d < rank; ++d) {
    for (int64_t k = 0; k < count; ++k) {
      y.data<int64_t>()[d * count + k] =
          shape.rank() == 0 ? 0 : hits[static_cast<size_t>(k)] / shape.CountFrom(d + 1) % shape[d];
    }
  }
  c.Set(0, c.Const(y), kTypeInt64);
  return Status::Ok();
}

// Rows are compared value by value, as doubles (int64 beyond 2^53 may be taken for equal).
Status MapUnique(NodeContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const Tensor x, c.Constant(0, "the values"));
  Value data = c.In(0);
  int axis = 0;
  if (c.HasAttribute("axis")) {
    PLUMB_ASSIGN_OR_RETURN(axis, NormalizeAxis(static_cast<int>(c.Int("axis", 0)), c.Rank(0)));
  } else {
    PLUMB_ASSIGN_OR_RETURN(data, c.Reshape(data, {x.NumElements()}));
  }
  const Shape shape = c.ShapeOf(data);
  const int64_t rows = shape[axis], inner = shape.CountFrom(axis + 1), outer = shape.Count(0, axis);
  std::map<std::vector<double>, std::vector<int64_t>> seen;  // sorted, as the default is
  for (int64_t r = 0; r < rows; ++r) {
    std::vector<double> key;
    for (int64_t o = 0; o < outer; ++o) {
      for (int64_t i = 0; i < inner; ++i) key.push_back(x.ValueAt((o * rows + r) * inner + i));
    }
    seen[key].push_back(r);
  }
  std::vector<const std::vector<int64_t>*> order;
  for (const auto& entry : seen) order.push_back(&entry.second);
  if (c.Int("sorted", 1) == 0) {
    std::sort(order.begin(), order.end(), [](const auto* a, const auto* b) { return a->front() < b->front(); });
  }
  std::vector<int64_t> first, inverse(static_cast<size_t>(rows)), counts;
  for (size_t k = 0; k < order.size(); ++k) {
    first.push_back(order[k]->front());
    counts.push_back(static_cast<int64_t>(order[k]->size()));
    for (const int64_t row : *order[k]) inverse[static_cast<size_t>(row)] = static_cast<int64_t>(k);
  }
  PLUMB_ASSIGN_OR_RETURN(const Value y, TakeRows(c, data, axis, first));
  c.Set(0, y);
  if (c.Wants(1)) c.Set(1, c.ConstInts(first), kTypeInt64);
  if (c.Wants(2)) c.Set(2, c.ConstInts(inverse), kTypeInt64);
  if (c.Wants(3)) c.Set(3, c.ConstInts(counts), kTypeInt64);
  return Status::Ok();
}

// The first length[b] steps of each row b backwards: one Gather over (time, batch) pairs, which every device has; with
// lengths that are known only when the network runs one PlumbReverseSequence.
Status MapReverseSequence(NodeContext& c) {
  if (c.Known(1) == nullptr) {
    auto param = std::make_shared<ReverseSequenceParam>();
    PLUMB_ASSIGN_OR_RETURN(const std::vector<int> axes, Narrow({c.Int("batch_axis", 1), c.Int("time_axis", 0)}));
    param->batch_axis = axes[0];
    param->time_axis = axes[1];
    return c.EmitOutput(OpKind::kPlumbReverseSequence, param, {c.In(0), c.In(1)});
  }
  PLUMB_ASSIGN_OR_RETURN(const std::vector<int64_t> lengths, c.Ints(1, "the lengths"));
  const Shape in = c.ShapeOf(0);
  const int64_t batch_axis = c.Int("batch_axis", 1), time_axis = c.Int("time_axis", 0);
  if (in.rank() < 2 || batch_axis + time_axis != 1 || batch_axis * time_axis != 0)
    return Status::CorruptModel("the batch and time axes must be 0 and 1");
  const int64_t batch = in[static_cast<int>(batch_axis)], steps = in[static_cast<int>(time_axis)];
  if (static_cast<int64_t>(lengths.size()) != batch)
    return Status::CorruptModel(fmt::format("there are {} lengths for a batch of {}", lengths.size(), batch));
  std::vector<int64_t> rows(static_cast<size_t>(batch * steps));
  for (int64_t i = 0; i < batch * steps; ++i) {
    const int64_t b = batch_axis == 0 ? i / steps : i % batch, t = batch_axis == 0 ? i % steps : i / batch;
    const int64_t length = lengths[static_cast<size_t>(b)];
    if (length < 0 || length > steps)
      return Status::CorruptModel(fmt::format("the length {} is outside 0 .. {}", length, steps));
    const int64_t from = t < length ? length - 1 - t : t;
    rows[static_cast<size_t>(i)] = batch_axis == 0 ? b * steps + from : from * batch + b;
  }
  PLUMB_ASSIGN_OR_RETURN(const Value flat, c.Reshape(c.In(0), {batch * steps, in.CountFrom(2)}));
  PLUMB_ASSIGN_OR_RETURN(const Value taken, TakeRows(c, flat, 0, rows));
  PLUMB_ASSIGN_OR_RETURN(const Value y, c.Reshape(taken, in.dims()));
  c.Set(0, y);
  return Status::Ok();
}

}  // namespace plumb::onnx
