// SPDX-License-Identifier: Apache-2.0
// ScatterElements, Scatter, ScatterND. With known indices each output element is one of the data's or one of the
// updates', so it is a Gather from both behind one another, which every device has. With a reduction, elements that are
// hit several times take one round per hit. With indices that are known only when the network runs: one
// PlumbScatterElements or PlumbScatterND.
#include <fmt/core.h>

#include <map>

#include "format/onnx/node_context.h"
#include "op/gather.h"
#include "op/scatter.h"

namespace plumb::onnx {
namespace {

// targets[u]: the flat position in the data that element u of the updates goes to.
Result<Value> Scattered(NodeContext& c, const std::vector<int64_t>& targets) {
  const Shape shape = c.ShapeOf(0);
  const int64_t count = shape.NumElements();
  const std::string reduction = c.Text("reduction", "none");
  PLUMB_RETURN_IF_ERROR(c.builder().Reserve(DType::kI64, shape));
  PLUMB_ASSIGN_OR_RETURN(Value y, c.Reshape(c.In(0), {count}));
  PLUMB_ASSIGN_OR_RETURN(const Value updates, c.Reshape(c.In(2), {c.ShapeOf(2).NumElements()}));
  std::vector<std::map<int64_t, int64_t>> rounds(1);  // position -> update, the k-th hit in round k
  for (size_t u = 0; u < targets.size(); ++u) {
    size_t round = 0;
    if (reduction == "none") {
      rounds[0][targets[u]] = static_cast<int64_t>(u);  // the last one stays
      continue;
    }
    while (round < rounds.size() && rounds[round].count(targets[u]) > 0) ++round;
    if (round == rounds.size()) rounds.emplace_back();
    if (rounds.size() > 1000) return Status::NotSupported("one element is hit more than 1000 times");
    rounds[round][targets[u]] = static_cast<int64_t>(u);
  }
  for (const auto& hits : rounds) {
    PLUMB_ASSIGN_OR_RETURN(const Value both, c.Join({y, updates}, 0));
    std::vector<int64_t> picks(static_cast<size_t>(count));
    Tensor mask = std::move(Tensor::Zeros(DType::kBool, Shape{count})).value();
    for (int64_t i = 0; i < count; ++i) {
      const auto it = hits.find(i);
      picks[static_cast<size_t>(i)] = it == hits.end() ? i : count + it->second;
      mask.data<bool>()[i] = it != hits.end();
    }
    auto param = std::make_shared<GatherParam>();
    param->indices_in_resource = false;
    PLUMB_ASSIGN_OR_RETURN(const Value picked, c.Emit(OpKind::kGather, param, {both, c.ConstInts(picks)}));
    if (reduction == "none") return picked;
    const OpKind kind = reduction == "add"   ? OpKind::kAdd
                        : reduction == "mul" ? OpKind::kMul
                        : reduction == "max" ? OpKind::kMaximum
                                             : OpKind::kMinimum;
    if (kind == OpKind::kMinimum && reduction != "min")
      return Status::NotSupported(fmt::format("reduction '{}'", reduction));
    PLUMB_ASSIGN_OR_RETURN(const Value combined, c.Binary(kind, y, picked));
    PLUMB_ASSIGN_OR_RETURN(y, c.Select(c.Const(mask), combined, y));
  }
  return y;
}

Status Finish(NodeContext& c, const std::vector<int64_t>& targets) {
  if (static_cast<int64_t>(targets.size()) != c.ShapeOf(2).NumElements()) {
    return Status::CorruptModel(
        fmt::format("the indices name {} elements, the updates are {}", targets.size(), c.ShapeOf(2).ToString()));
  }
  PLUMB_ASSIGN_OR_RETURN(const Value flat, Scattered(c, targets));
  PLUMB_ASSIGN_OR_RETURN(const Value y, c.Reshape(flat, c.ShapeOf(0).dims()));
  c.Set(0, y);
  return Status::Ok();
}

Result<int64_t> InRange(int64_t index, int64_t dim) {
  if (index < 0) index += dim;
  if (index >= 0 && index < dim) return index;
  return Status::CorruptModel("an index is outside a dim of " + std::to_string(dim));
}

Status AtRunTime(NodeContext& c, OpKind kind, std::shared_ptr<OpParam> param) {
  PLUMB_ASSIGN_OR_RETURN(Value y, c.Emit(kind, std::move(param), {c.In(0), c.In(1), c.In(2)}));
  PLUMB_ASSIGN_OR_RETURN(y, c.Wrap(y, c.In(0).type));
  c.Set(0, y);
  return Status::Ok();
}

}  // namespace

Status MapScatterElements(NodeContext& c) {
  if (c.Known(1) == nullptr) {
    auto param = std::make_shared<PlumbScatterElementsParam>();
    param->axis = static_cast<int>(c.Int("axis", 0));
    param->reduction = c.Text("reduction", "none");
    return AtRunTime(c, OpKind::kPlumbScatterElements, param);
  }
  PLUMB_ASSIGN_OR_RETURN(const std::vector<int64_t> indices, c.Ints(1, "the indices"));
  PLUMB_ASSIGN_OR_RETURN(const int axis, NormalizeAxis(static_cast<int>(c.Int("axis", 0)), c.Rank(0)));
  const Shape data = c.ShapeOf(0), shape = c.ShapeOf(1);
  if (shape.rank() != data.rank())
    return Status::CorruptModel(fmt::format("the indices are {} for {}", shape.ToString(), data.ToString()));
  std::vector<int64_t> targets;
  for (size_t u = 0; u < indices.size(); ++u) {
    int64_t target = 0;
    for (int d = 0; d < data.rank(); ++d) {
      int64_t at = static_cast<int64_t>(u) / shape.CountFrom(d + 1) % shape[d];
      if (d == axis) at = indices[u];
      PLUMB_ASSIGN_OR_RETURN(at, InRange(at, data[d]));
      target += at * data.CountFrom(d + 1);
    }
    targets.push_back(target);
  }
  return Finish(c, targets);
}

Status MapScatter(NodeContext& c) { return MapScatterElements(c); }

Status MapScatterND(NodeContext& c) {
  if (c.Known(1) == nullptr) {
    auto param = std::make_shared<PlumbScatterNDParam>();
    param->reduction = c.Text("reduction", "none");
    return AtRunTime(c, OpKind::kPlumbScatterND, param);
  }
  PLUMB_ASSIGN_OR_RETURN(const std::vector<int64_t> indices, c.Ints(1, "the indices"));
  const Shape data = c.ShapeOf(0), shape = c.ShapeOf(1);
  if (shape.rank() < 1 || shape[shape.rank() - 1] > data.rank())
    return Status::CorruptModel(fmt::format("the indices are {} for {}", shape.ToString(), data.ToString()));
  const auto width = static_cast<int>(shape[shape.rank() - 1]);
  const int64_t slice = data.CountFrom(width), count = shape.Count(0, shape.rank() - 1);
  if (count * slice > c.ShapeOf(2).NumElements())
    return Status::CorruptModel(
        fmt::format("the updates are {} for indices {}", c.ShapeOf(2).ToString(), shape.ToString()));
  std::vector<int64_t> targets;
  for (int64_t v = 0; v < count; ++v) {
    int64_t start = 0;
    for (int d = 0; d < width; ++d) {
      PLUMB_ASSIGN_OR_RETURN(const int64_t at, InRange(indices[static_cast<size_t>(v * width + d)], data[d]));
      start += at * data.CountFrom(d + 1);
    }
    for (int64_t i = 0; i < slice; ++i) targets.push_back(start + i);
  }
  return Finish(c, targets);
}

}  // namespace plumb::onnx
