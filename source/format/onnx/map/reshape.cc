// SPDX-License-Identifier: Apache-2.0
// Operators that give elements other dims or another order. Shapes are known, so each is written with plain numbers.
#include <fmt/core.h>

#include <algorithm>

#include "format/onnx/node_context.h"
#include "op/expand.h"
#include "op/flatten.h"
#include "op/pixel_shuffle.h"
#include "op/squeeze.h"
#include "op/tile.h"

namespace plumb::onnx {

Status MapReshape(NodeContext& c) {
  PLUMB_ASSIGN_OR_RETURN(std::vector<int64_t> dims, c.IntsOf(1, "shape"));
  const Shape& in = c.ShapeOf(0);
  int64_t count = 1;
  int inferred = -1;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 0 && c.Int("allowzero", 0) == 0) {
      if (static_cast<int>(i) >= in.rank())
        return Status::CorruptModel(fmt::format("dim {} copies a dim that {} lacks", i, in.ToString()));
      dims[i] = in[static_cast<int>(i)];
    }
    if (dims[i] == -1) {
      if (inferred >= 0) return Status::CorruptModel("more than one dim is -1");
      inferred = static_cast<int>(i);
    } else if (dims[i] < 0 || (dims[i] > 0 && count > (int64_t{1} << 40) / dims[i])) {
      return Status::CorruptModel("the shape has the dim " + std::to_string(dims[i]));
    } else {
      count *= dims[i];
    }
  }
  if (inferred >= 0) {
    if (count == 0 || in.NumElements() % count != 0)
      return Status::CorruptModel("cannot infer the dim of -1 for " + in.ToString());
    dims[static_cast<size_t>(inferred)] = in.NumElements() / count;
  }
  PLUMB_ASSIGN_OR_RETURN(const Value y, c.Reshape(c.In(0), dims));
  c.Set(0, y);
  return Status::Ok();
}

Status MapFlatten(NodeContext& c) {
  auto param = std::make_shared<FlattenParam>();
  const auto axis = static_cast<int>(c.Int("axis", 1));
  param->axis = axis < 0 ? axis + c.Rank(0) : axis;
  return c.EmitOutput(OpKind::kFlatten, param, {c.In(0)});
}

Status MapSqueeze(NodeContext& c) {
  PLUMB_ASSIGN_OR_RETURN(std::vector<int64_t> axes, c.IntsOf(1, "axes"));
  auto param = std::make_shared<SqueezeParam>();
  if (axes.empty() && !c.Has(1)) {  // all dims of 1
    for (int i = 0; i < c.Rank(0); ++i) {
      if (c.ShapeOf(0)[i] == 1) axes.push_back(i);
    }
  }
  PLUMB_ASSIGN_OR_RETURN(param->axes, Narrow(axes));
  return c.EmitOutput(OpKind::kSqueeze, param, {c.In(0)});
}

Status MapUnsqueeze(NodeContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const std::vector<int64_t> axes, c.IntsOf(1, "axes"));
  auto param = std::make_shared<SqueezeParam>();
  PLUMB_ASSIGN_OR_RETURN(param->axes, Narrow(axes));
  return c.EmitOutput(OpKind::kUnsqueeze, param, {c.In(0)});
}

Status MapTranspose(NodeContext& c) {
  PLUMB_ASSIGN_OR_RETURN(std::vector<int> orders, Narrow(c.IntList("perm")));
  if (orders.empty()) {
    for (int i = c.Rank(0); i-- > 0;) orders.push_back(i);
  }
  if (static_cast<int>(orders.size()) != c.Rank(0))
    return Status::CorruptModel(fmt::format("perm has {} entries for {}", orders.size(), c.ShapeOf(0).ToString()));
  PLUMB_ASSIGN_OR_RETURN(const Value y, c.Transpose(c.In(0), orders));
  c.Set(0, y);
  return Status::Ok();
}

Status MapExpand(NodeContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const std::vector<int64_t> shape, c.Ints(1, "the shape"));
  const Shape target(shape);
  PLUMB_RETURN_IF_ERROR(target.Validate());
  PLUMB_ASSIGN_OR_RETURN(const Shape out, BroadcastShapes(c.ShapeOf(0), target));
  if (out == c.ShapeOf(0)) {
    c.Set(0, c.In(0));
    return Status::Ok();
  }
  auto param = std::make_shared<ExpandParam>();
  PLUMB_ASSIGN_OR_RETURN(param->shape, Narrow(out.dims()));
  return c.EmitOutput(OpKind::kExpand, param, {c.In(0)});
}

Status MapTile(NodeContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const std::vector<int64_t> repeats, c.Ints(1, "the repeats"));
  if (static_cast<int>(repeats.size()) != c.Rank(0))
    return Status::CorruptModel(fmt::format("there are {} repeats for {}", repeats.size(), c.ShapeOf(0).ToString()));
  auto param = std::make_shared<TileParam>();
  PLUMB_ASSIGN_OR_RETURN(param->repeats, Narrow(repeats));
  return c.EmitOutput(OpKind::kTile, param, {c.In(0)});
}

Status MapDepthToSpace(NodeContext& c) {
  auto param = std::make_shared<ReorgParam>();
  param->stride = static_cast<int>(c.Int("blocksize", 1));
  param->forward = 1;
  param->mode = c.Text("mode", "DCR") == "CRD" ? 1 : 0;
  return c.EmitOutput(OpKind::kReorg, param, {c.In(0)});
}

Status MapSpaceToDepth(NodeContext& c) {
  auto param = std::make_shared<ReorgParam>();
  param->stride = static_cast<int>(c.Int("blocksize", 1));
  param->mode = c.Text("mode", "DCR") == "CRD" ? 1 : 0;
  return c.EmitOutput(OpKind::kReorg, param, {c.In(0)});
}

}  // namespace plumb::onnx
