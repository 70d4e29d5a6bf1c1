// SPDX-License-Identifier: Apache-2.0
// kernel_shape, strides, dilations, pads and auto_pad, as Conv, ConvTranspose and the pools have them.
#ifndef PLUMB_FORMAT_ONNX_MAP_WINDOW_ATTRIBUTES_H_
#define PLUMB_FORMAT_ONNX_MAP_WINDOW_ATTRIBUTES_H_

#include <string>
#include <vector>

#include "format/onnx/node_context.h"

namespace plumb::onnx {

struct WindowAttributes {
  std::vector<int> kernel, stride, dilation, begin, end;  // one per spatial dim
  std::string auto_pad = "NOTSET";

  bool symmetric() const { return begin == end; }
  bool dilated() const;
};

// `kernel` is what the weights say; empty: the attribute must be there. Pads of auto_pad are computed for `spatial`
// (the input's spatial dims).
Result<WindowAttributes> ReadWindow(const NodeContext& c, const std::vector<int64_t>& spatial,
                                    std::vector<int64_t> kernel);

// AL07: pads that differ on the two sides at a stride of 2 or more.
void WarnOfSides(NodeContext& c, const WindowAttributes& w);

// The input with zeros (or `fill`) around it.
Result<Value> PadSpatial(NodeContext& c, const Value& x, const WindowAttributes& w, float fill);

// [n, c, l] as [n, c, 1, l], and the attributes with a first spatial dim of 1.
Result<Value> AddHeight(NodeContext& c, const Value& x, WindowAttributes* w);
// The way back.
Result<Value> DropHeight(NodeContext& c, const Value& y);

}  // namespace plumb::onnx

#endif  // PLUMB_FORMAT_ONNX_MAP_WINDOW_ATTRIBUTES_H_
