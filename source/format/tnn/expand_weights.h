// SPDX-License-Identifier: Apache-2.0
// The floats that int8 weights of a tnnmodel stand for.
#ifndef PLUMB_FORMAT_TNN_EXPAND_WEIGHTS_H_
#define PLUMB_FORMAT_TNN_EXPAND_WEIGHTS_H_

#include "plumb/graph.h"
#include "plumb/model.h"

namespace plumb::tnn {

// Of a layer whose input, of that shape, is quantised, too. The file's scales hold the input's, one or one per channel,
// as a factor. `record`: null, or what gets the DequantizeLinears that this amounts to. CorruptModel: scales that do
// not fit.
Status ExpandStatic(const Tensor& input_scale, const Shape& input, ImportRecord* record, Layer* layer);

// Of a layer whose input is of floats; it is no quantised one after that.
Status ExpandDynamicRange(Layer* layer);
// Constants with a scale beside them (<name>_dynamic_range_quant_scale), which goes.
Status ExpandConstants(Graph* graph);

}  // namespace plumb::tnn

#endif  // PLUMB_FORMAT_TNN_EXPAND_WEIGHTS_H_
