// SPDX-License-Identifier: Apache-2.0
// Resizing axis by axis, for what TNN's Upsample cannot say: nearest is a Gather with known indices; linear and cubic
// are a matrix product with the known weights of each output position (an infinity or NaN therefore spreads along its
// axis).
#ifndef PLUMB_FORMAT_ONNX_MAP_RESIZE_AXIS_H_
#define PLUMB_FORMAT_ONNX_MAP_RESIZE_AXIS_H_

#include <string>
#include <vector>

#include "format/onnx/node_context.h"

namespace plumb::onnx {

// ONNX's attributes of Resize.
struct ResizeRule {
  std::string mode = "nearest";
  std::string coordinates = "half_pixel";
  std::string rounding = "round_prefer_floor";
  double cubic_a = -0.75;
  bool exclude_outside = false;
};

// x resized to `out`, one dim and one scale (as given: it need not be out / in) per axis.
Result<Value> ResizeByAxis(NodeContext& c, const Value& x, const std::vector<int64_t>& out,
                           const std::vector<double>& scale, const ResizeRule& rule);

}  // namespace plumb::onnx

#endif  // PLUMB_FORMAT_ONNX_MAP_RESIZE_AXIS_H_
