// SPDX-License-Identifier: Apache-2.0
// Cones: the steps of a subject that has tensors for some blobs only. The cone of a known blob is the layers between it
// and the last known blobs before it; a fused Convolution+BatchNorm+ReLU is one, and a whole network of which nothing
// but inputs and outputs are known is one, too.
#ifndef PLUMB_CHECK_SUBJECT_SUBJECT_STEPS_H_
#define PLUMB_CHECK_SUBJECT_SUBJECT_STEPS_H_

#include <functional>
#include <string>
#include <vector>

#include "device/kernel.h"

namespace plumb {

struct Cone {
  LayerGroup group;
  bool known = false;   // false: a single layer behind which the subject has nothing
  std::string missing;  // a network input that the cone needs and nobody has; empty: none
};

// In execution order; every layer that runs at all stands in one of them at least. Layers whose values follow from the
// shapes alone are left out, as in a network. Two cones that share layers become one when that changes no layer's
// inputs, and they share more than a DequantizeLinear and what moves its values.
std::vector<Cone> FindCones(const Graph& graph, const BlobTable& blobs,
                            const std::function<bool(const std::string&)>& known);

}  // namespace plumb

#endif  // PLUMB_CHECK_SUBJECT_SUBJECT_STEPS_H_
