// SPDX-License-Identifier: Apache-2.0
// Generated weights of TNN's quantised layers: what was drawn as floats, in int8, and scales for the blobs around them.
#ifndef PLUMB_GRAPH_RANDOM_QUANTIZED_H_
#define PLUMB_GRAPH_RANDOM_QUANTIZED_H_

#include "graph/mean_square.h"
#include "plumb/graph.h"

namespace plumb {

// Powers of two for the layer's blobs that have no scale yet, so that int8 holds six times the expected root mean
// square. What only moves or limits values keeps the scale of its input.
void ChooseBlobScales(const MeanSquares& mean_squares, const Layer& layer, Graph* graph);

// Turns the f32 weights of a quantised layer into int8 ones, and its bias into i32. Does nothing to other layers.
// REQUIRES: the input of a layer that is not of a dynamic range has a scale.
Status QuantizeDrawn(const Graph& graph, Layer* layer);

}  // namespace plumb

#endif  // PLUMB_GRAPH_RANDOM_QUANTIZED_H_
