// SPDX-License-Identifier: Apache-2.0
// Activated: tensors that hold the result of the ReLU, ReLU6 or Clip behind the layer whose name they bear. A runtime
// fuses it, and tools that write the .onnx of a .tflite (tf2onnx) name the layer before it after the fused result.
#ifndef PLUMB_CHECK_SUBJECT_ACTIVATED_H_
#define PLUMB_CHECK_SUBJECT_ACTIVATED_H_

#include <map>
#include <string>

#include "plumb/graph.h"

namespace plumb {

struct ActivationRange {
  std::string output;
  double low = 0, high = 0;
};

// Blobs that nothing but one such layer reads -> that layer.
std::map<std::string, ActivationRange> SoleActivations(const Graph& graph);

// Whether the values are a result: inside the range and, so that they tell, some on its edge. A tensor that the
// activation leaves as it is may be taken for its result, whatever it was.
bool IsActivated(const Tensor& value, const ActivationRange& activation);

}  // namespace plumb

#endif  // PLUMB_CHECK_SUBJECT_ACTIVATED_H_
