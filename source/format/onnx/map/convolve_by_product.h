// SPDX-License-Identifier: Apache-2.0
// A convolution as one product, for operands that no convolution layer takes: integers, and weights that are blobs.
#ifndef PLUMB_FORMAT_ONNX_MAP_CONVOLVE_BY_PRODUCT_H_
#define PLUMB_FORMAT_ONNX_MAP_CONVOLVE_BY_PRODUCT_H_

#include <functional>

#include "format/onnx/map/window_attributes.h"
#include "format/onnx/node_context.h"

namespace plumb::onnx {

// Of filters [group, filters / group, terms] and columns [n, group, terms, windows]: their product along the terms.
using TapProduct = std::function<Result<Value>(const Value& filters, const Value& windows)>;

// The window attributes are the node's; pads are zeros. CorruptModel when x [n, c, ...] and the filter do not fit.
Result<Value> ConvolveByProduct(NodeContext& c, const Value& x, const Value& filter, const TapProduct& product);
// With a group and a window of one's own. REQUIRES: the window has x's spatial dims.
Result<Value> ConvolveByProduct(NodeContext& c, const Value& x, const Value& filter, int64_t group,
                                const WindowAttributes& w, const TapProduct& product);

// How many windows there are along each spatial dim of x [n, c, ...], pads included. CorruptModel when none fits.
Result<std::vector<int64_t>> CountWindows(NodeContext& c, const Value& x, const WindowAttributes& w);
// x [n, c, ...], padded already, as columns [n, group, taps * c / group, windows], the channels of a tap behind each
// other.
Result<Value> WindowColumns(NodeContext& c, const Value& x, const WindowAttributes& w, int64_t group,
                            const std::vector<int64_t>& windows);

}  // namespace plumb::onnx

#endif  // PLUMB_FORMAT_ONNX_MAP_CONVOLVE_BY_PRODUCT_H_
