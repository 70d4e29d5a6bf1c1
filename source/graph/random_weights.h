// SPDX-License-Identifier: Apache-2.0
// Weights for a model that has none: seeded, the same bits on every machine, drawn so that values keep their size
// through deep networks.
//
// Every weight is an odd integer from -(2^24 - 1) to 2^24 - 1, drawn by Philox4x32-10 from (seed, layer name, slot,
// element), times a float scale; one rounding, nothing but + * / and sqrt in the scale. Filters have variance 2 /
// (fan_in * m), where m is the mean square to be expected of the layer's input: He's rule, corrected where residual
// sums make m grow. Normalisation scales are near one, biases small, variances positive, slopes between 0 and 0.5.
#ifndef PLUMB_GRAPH_RANDOM_WEIGHTS_H_
#define PLUMB_GRAPH_RANDOM_WEIGHTS_H_

#include <cstdint>
#include <string>

#include "plumb/graph.h"

namespace plumb {

// "philox4x32-10 v1": changes whenever a drawn bit changes.
const char* WeightGeneratorVersion();

// Draws every required resource that a layer lacks, sets weights_generated and weight_seed. Quantised layers stay as
// they are (int8 weights are not generated), which a note says. InvalidArgument when the weights would not fit this
// machine's memory.
Status GenerateWeights(const BlobTable& blobs, uint64_t seed, Graph* graph);

}  // namespace plumb

#endif  // PLUMB_GRAPH_RANDOM_WEIGHTS_H_
