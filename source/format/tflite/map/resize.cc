// SPDX-License-Identifier: Apache-2.0
// RESIZE_BILINEAR, RESIZE_NEAREST_NEIGHBOR. Without options a pixel's corner is its place (before TF 2.3's converter
// everything was so), with half_pixel_centers its middle, with align_corners the images' corner pixels meet.
#include <fmt/core.h>

#include "format/tflite/op_context.h"

namespace plumb::tflite {
namespace {

Status Resized(OpContext& c, bool nearest, bool corners, bool centers) {
  if (c.Rank(0) != 4) return Status::CorruptModel(fmt::format("its input is {}", c.InShape(0).ToString()));
  PLUMB_ASSIGN_OR_RETURN(const std::vector<int64_t> size, c.Ints(1, "the size"));
  if (size.size() != 2) return Status::CorruptModel(fmt::format("its size has {} numbers, expected 2", size.size()));
  onnx::AttributeMap attributes = {{"mode", TextAttribute(nearest ? "nearest" : "linear")},
                                   {"axes", IntsAttribute({2, 3})},
                                   {"coordinate_transformation_mode", TextAttribute(corners   ? "align_corners"
                                                                                    : centers ? "half_pixel"
                                                                                              : "asymmetric")}};
  if (nearest) attributes["nearest_mode"] = TextAttribute(corners || centers ? "round_prefer_ceil" : "floor");
  PLUMB_ASSIGN_OR_RETURN(const std::string x, nearest ? c.Moved(0, Order::kFirst) : c.Real(0, Order::kFirst));
  PLUMB_ASSIGN_OR_RETURN(const std::string sizes, c.IntsConstant(size));
  const std::string y = c.Emit("Resize", {x, "", "", sizes}, attributes);
  return nearest ? c.SetMoved(0, y, Order::kFirst) : c.Set(0, y, Order::kFirst);
}

}  // namespace

Status MapResizeBilinear(OpContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const auto* options, c.Options<schema::ResizeBilinearOptions>());
  return Resized(c, false, options->align_corners(), options->half_pixel_centers());
}

Status MapResizeNearest(OpContext& c) {
  PLUMB_ASSIGN_OR_RETURN(const auto* options, c.Options<schema::ResizeNearestNeighborOptions>());
  return Resized(c, true, options->align_corners(), options->half_pixel_centers());
}

}  // namespace plumb::tflite
