// SPDX-License-Identifier: Apache-2.0
// Concat, Split, Slice: along axes.
#include <fmt/core.h>

#include <algorithm>
#include <climits>

#include "format/onnx/node_context.h"
#include "op/concat.h"
#include "op/split_v.h"
#include "op/strided_slice.h"

namespace plumb::onnx {

Status MapConcat(NodeContext& c) {
  auto param = std::make_shared<ConcatParam>();
  PLUMB_ASSIGN_OR_RETURN(param->axis, NormalizeAxis(static_cast<int>(c.Int("axis", 1)), c.Rank(0)));
  std::vector<Value> inputs;
  for (size_t i = 0; i < c.NumInputs(); ++i) {
    if (!c.Has(i)) return Status::CorruptModel(fmt::format("input {} is missing", i));
    const Shape& shape = c.ShapeOf(i);
    if (shape.NumElements() == 0 && shape.rank() == 1 && c.Rank(0) == 1) continue;  // adds nothing
    inputs.push_back(c.In(i));
  }
  if (inputs.empty()) inputs.push_back(c.In(0));
  if (inputs.size() == 1) {
    c.Set(0, inputs[0]);
    return Status::Ok();
  }
  return c.EmitOutput(OpKind::kConcat, param, inputs);
}

Status MapSplit(NodeContext& c) {
  auto param = std::make_shared<SplitVParam>();
  PLUMB_ASSIGN_OR_RETURN(param->axis, NormalizeAxis(static_cast<int>(c.Int("axis", 0)), c.Rank(0)));
  PLUMB_ASSIGN_OR_RETURN(const std::vector<int64_t> sizes, c.IntsOf(1, "split"));
  PLUMB_ASSIGN_OR_RETURN(param->slices, Narrow(sizes));
  const auto count = static_cast<int64_t>(c.NumOutputs());
  const int64_t dim = c.ShapeOf(0)[param->axis];
  if (param->slices.empty()) {  // equal pieces, the last one smaller
    const int64_t piece = (dim + count - 1) / count;
    for (int64_t i = 0; i < count; ++i) {
      param->slices.push_back(static_cast<int>(std::max<int64_t>(0, std::min(piece, dim - i * piece))));
    }
  }
  PLUMB_ASSIGN_OR_RETURN(const std::vector<Value> pieces,
                         c.EmitMany({OpKind::kSplitV, param, {c.In(0)}, {}, c.NumOutputs()}));
  for (size_t i = 0; i < pieces.size(); ++i) c.Set(i, pieces[i]);
  return Status::Ok();
}

Status MapSlice(NodeContext& c) {
  const bool from_inputs = c.opset() >= 10;
  const auto list = [&](size_t i, const char* name) -> Result<std::vector<int64_t>> {
    if (!from_inputs) return c.LongIntList(name);
    return c.Has(i) ? c.Ints(i, name) : Result<std::vector<int64_t>>(std::vector<int64_t>());
  };
  PLUMB_ASSIGN_OR_RETURN(std::vector<int64_t> starts, list(1, "starts"));
  PLUMB_ASSIGN_OR_RETURN(std::vector<int64_t> ends, list(2, "ends"));
  PLUMB_ASSIGN_OR_RETURN(const std::vector<int64_t> axes, list(3, "axes"));
  PLUMB_ASSIGN_OR_RETURN(const std::vector<int64_t> steps, list(4, "steps"));
  auto param = std::make_shared<StridedSliceV2Param>();
  const auto clamp = [](int64_t v) {
    return static_cast<int>(std::min<int64_t>(std::max<int64_t>(v, INT_MIN), INT_MAX));
  };
  for (const int64_t start : starts) param->begins.push_back(clamp(start));
  for (const int64_t end : ends) param->ends.push_back(clamp(end));
  for (size_t i = 0; i < starts.size(); ++i) {
    param->axes.push_back(i < axes.size() ? clamp(axes[i]) : static_cast<int>(i));
    param->strides.push_back(i < steps.size() ? clamp(steps[i]) : 1);
  }
  if (ends.size() != starts.size() || (!axes.empty() && axes.size() != starts.size()))
    return Status::CorruptModel("starts, ends and axes differ in length");
  return c.EmitOutput(OpKind::kStridedSliceV2, param, {c.In(0)});
}

}  // namespace plumb::onnx
