// SPDX-License-Identifier: Apache-2.0
// TNN's quantised layers as what they compute: DequantizeLinear, the operator of floats, QuantizeLinear, as in a QDQ
// file of ONNX. A blob of integers keeps its name for the reals that they stand for (which TNN dumps); the integers are
// <blob>_int8. Layers of dynamic ranges get the floats that their int8 weights stand for.
#ifndef PLUMB_FORMAT_TNN_EXPAND_QUANTIZED_H_
#define PLUMB_FORMAT_TNN_EXPAND_QUANTIZED_H_

#include "plumb/graph.h"
#include "plumb/model.h"

namespace plumb::tnn {

// Layers are numbered anew. `record` may be null; else it gets the DequantizeLinears of weights and biases.
// CorruptModel: a blob without a usable scale, or weights whose scales do not fit. REQUIRES: CheckResources(graph) is
// OK, and `blobs` are the graph's.
Status ExpandQuantized(const BlobTable& blobs, ImportRecord* record, Graph* graph);

}  // namespace plumb::tnn

#endif  // PLUMB_FORMAT_TNN_EXPAND_QUANTIZED_H_
