// A convolution as one product, for operands that no convolution layer takes: integers, and weights that are blobs.
#ifndef PLUMB_FORMAT_ONNX_MAP_CONVOLVE_BY_PRODUCT_H_
#define PLUMB_FORMAT_ONNX_MAP_CONVOLVE_BY_PRODUCT_H_

#include <functional>

#include "format/onnx/node_context.h"

namespace plumb::onnx {

// Of filters [group, filters / group, terms] and columns [n, group, terms, windows]: their product along the terms.
using TapProduct = std::function<Result<Value>(const Value& filters, const Value& windows)>;

// The window attributes are the node's; pads are zeros. CorruptModel when x [n, c, ...] and the filter do not fit.
Result<Value> ConvolveByProduct(NodeContext& c, const Value& x, const Value& filter, const TapProduct& product);

}  // namespace plumb::onnx

#endif  // PLUMB_FORMAT_ONNX_MAP_CONVOLVE_BY_PRODUCT_H_
