// SPDX-License-Identifier: Apache-2.0
// What operators with a window share.
#ifndef PLUMB_FORMAT_TFLITE_MAP_WINDOW_H_
#define PLUMB_FORMAT_TFLITE_MAP_WINDOW_H_

#include <string>
#include <vector>

#include "format/tflite/op_context.h"

namespace plumb::tflite {

// ONNX's auto_pad.
Result<onnx::AttributeIr> PaddingAttribute(schema::Padding padding);

// A bias as reals: integers in its own units, or in those of the products.
Result<std::string> BiasOf(OpContext& c, size_t bias, size_t input, size_t weights);

struct TransposedWindow {
  int stride_h, stride_w;
  schema::Padding padding;
  schema::Activation activation;
  std::vector<int64_t> out;   // the output's shape as the file says it; empty: what the pads give
  std::vector<int64_t> pads;  // top, left, bottom, right; empty: by the padding
};
Status TransposedConvolution(OpContext& c, size_t image, size_t bias, const TransposedWindow& window);

}  // namespace plumb::tflite

#endif  // PLUMB_FORMAT_TFLITE_MAP_WINDOW_H_
