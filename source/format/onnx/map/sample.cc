// SPDX-License-Identifier: Apache-2.0
// GridSample, RoiAlign, MaxUnpool, LpPool and Det, each one operator of the runtime.
#include <fmt/core.h>

#include "format/onnx/map/window_attributes.h"
#include "format/onnx/node_context.h"
#include "op/grid_sample.h"
#include "op/pool_nd.h"
#include "op/roi_align.h"

namespace plumb::onnx {
namespace {

Result<WindowParam> ReadWindowParam(NodeContext& c) {
  const Shape& x = c.ShapeOf(0);
  if (x.rank() < 3) return Status::CorruptModel(fmt::format("an input of rank {}; at least 3 is expected", x.rank()));
  PLUMB_ASSIGN_OR_RETURN(const WindowAttributes w, ReadWindow(c, {x.dims().begin() + 2, x.dims().end()}, {}));
  WindowParam p;
  p.kernel = w.kernel;
  p.strides = w.stride;
  p.dilations = w.dilation;
  p.pads = w.begin;
  p.pads.insert(p.pads.end(), w.end.begin(), w.end.end());
  p.ceil_mode = c.Int("ceil_mode", 0) != 0;
  return p;
}

}  // namespace

Status MapGridSample(NodeContext& c) {
  const std::string mode = c.Text("mode", "linear"), padding = c.Text("padding_mode", "zeros");
  auto p = std::make_shared<GridSampleParam>();
  p->mode = mode == "nearest"                        ? 1
            : mode == "bilinear" || mode == "linear" ? 2
            : mode == "bicubic" || mode == "cubic"   ? 3
                                                     : 0;
  p->pad_type = padding == "zeros" ? 0 : padding == "reflection" ? 1 : padding == "border" ? 2 : -1;
  p->align_corners = c.Int("align_corners", 0) != 0;
  if (p->mode == 0 || p->pad_type < 0) {
    return Status::NotSupported(fmt::format(
        "mode '{}' with padding_mode '{}'; nearest, linear, cubic with zeros, border, reflection are supported", mode,
        padding));
  }
  return c.EmitOutput(OpKind::kGridSample, p, {c.In(0), c.In(1)});
}

Status MapRoiAlign(NodeContext& c) {
  const std::string mode = c.Text("mode", "avg");
  const std::string coordinates =
      c.Text("coordinate_transformation_mode", c.opset() >= 16 ? "half_pixel" : "output_half_pixel");
  if ((mode != "avg" && mode != "max") || (coordinates != "half_pixel" && coordinates != "output_half_pixel")) {
    return Status::NotSupported(
        fmt::format("mode '{}' with coordinate_transformation_mode '{}'; avg and max with half_pixel and "
                    "output_half_pixel are supported",
                    mode, coordinates));
  }
  PLUMB_ASSIGN_OR_RETURN(const std::vector<int> sizes,
                         Narrow({c.Int("output_height", 1), c.Int("output_width", 1), c.Int("sampling_ratio", 0)}));
  RoiAlignParam base;
  base.mode = mode == "avg" ? 1 : 0;
  base.out_h = sizes[0];
  base.out_w = sizes[1];
  base.sampling_ratio = sizes[2];
  base.spatial_scale = c.Float("spatial_scale", 1);
  if (coordinates == "output_half_pixel") {
    return c.EmitOutput(OpKind::kRoiAlign, std::make_shared<RoiAlignParam>(base), {c.In(0), c.In(1), c.In(2)});
  }
  auto p = std::make_shared<PlumbRoiAlignParam>();
  p->base = base;
  return c.EmitOutput(OpKind::kPlumbRoiAlign, p, {c.In(0), c.In(1), c.In(2)});
}

Status MapMaxUnpool(NodeContext& c) {
  auto p = std::make_shared<MaxUnpoolParam>();
  PLUMB_ASSIGN_OR_RETURN(p->window, ReadWindowParam(c));
  std::vector<Value> inputs = {c.In(0), c.In(1)};
  if (c.Has(2)) {
    PLUMB_ASSIGN_OR_RETURN(const std::vector<int64_t> shape, c.Ints(2, "the output shape"));
    inputs.push_back(c.ConstInts(shape));
  }
  return c.EmitOutput(OpKind::kPlumbMaxUnpool, p, inputs);
}

Status MapLpPool(NodeContext& c) {
  auto p = std::make_shared<PoolNDParam>();
  PLUMB_ASSIGN_OR_RETURN(p->window, ReadWindowParam(c));
  PLUMB_ASSIGN_OR_RETURN(const std::vector<int> norm, Narrow({c.Int("p", 2)}));
  p->mode = "lp";
  p->p = norm[0];
  return c.EmitOutput(OpKind::kPlumbPoolND, p, {c.In(0)});
}

Status MapDet(NodeContext& c) { return c.EmitOutput(OpKind::kPlumbDet, nullptr, {c.In(0)}); }

}  // namespace plumb::onnx
