// SPDX-License-Identifier: Apache-2.0
// Pad: pads from attributes (opset < 11) or inputs, for all dims or (opset 18) for some. Becomes PadV2.
#include "op/pad.h"

#include <fmt/core.h>

#include "format/onnx/node_context.h"

namespace plumb::onnx {

Status MapPad(NodeContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const std::vector<int64_t> pads,
                         c.opset() < 11 ? Result<std::vector<int64_t>>(c.IntList("pads")) : c.Ints(1, "the pads"));
  PLUMB_ASSIGN_OR_RETURN(const std::vector<int64_t> axes,
                         c.Has(3) ? c.Ints(3, "the axes") : Result<std::vector<int64_t>>(std::vector<int64_t>()));
  auto param = std::make_shared<PadV2Param>();
  param->value = c.Float("value", 0);
  if (c.Has(2)) {
    PLUMB_ASSIGN_OR_RETURN(const Tensor value, c.Constant(2, "the value"));
    param->value = static_cast<float>(value.ValueAt(0));
  }
  const std::string mode = c.Text("mode", "constant");
  if (mode != "constant" && mode != "reflect" && mode != "edge") {
    return Status::NotSupported(fmt::format("mode '{}'; constant, reflect and edge are supported", mode));
  }
  param->type = mode == "constant" ? kPadConst : mode == "reflect" ? kPadReflect : kPadEdge;
  const auto rank = static_cast<size_t>(c.Rank(0));
  const size_t count = axes.empty() ? rank : axes.size();
  if (pads.size() != 2 * count)
    return Status::CorruptModel(fmt::format("expects {} pads, found {}", 2 * count, pads.size()));
  PLUMB_ASSIGN_OR_RETURN(const std::vector<int> narrow, Narrow(pads));
  param->begins.assign(rank, 0);
  param->ends.assign(rank, 0);
  for (size_t i = 0; i < count; ++i) {
    PLUMB_ASSIGN_OR_RETURN(const int axis, AxisOf(axes.empty() ? static_cast<int64_t>(i) : axes[i], c.Rank(0)));
    param->begins[static_cast<size_t>(axis)] = narrow[i];
    param->ends[static_cast<size_t>(axis)] = narrow[count + i];
  }
  return c.EmitOutput(OpKind::kPadV2, param, {c.In(0)});
}

}  // namespace plumb::onnx
