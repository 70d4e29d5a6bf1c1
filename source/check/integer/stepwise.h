// SPDX-License-Identifier: Apache-2.0
// Steps whose kernel computes in f32 what the layers say, one after the other, each rounded once: DequantizeLinear,
// operators that IEEE 754 rounds correctly, those that ONNX Runtime looks up in a table of 256 entries, QuantizeLinear.
#ifndef PLUMB_CHECK_INTEGER_STEPWISE_H_
#define PLUMB_CHECK_INTEGER_STEPWISE_H_

#include <vector>

#include "check/numbers/replay.h"

namespace plumb {

using StepKernel = Status (*)(const ReferenceArgs& args);

struct StepwiseRule {
  const char* words;
  // The kernel of an operator that the rule computes otherwise than its reference rounded to f32; null: that.
  StepKernel (*kernel_of)(OpKind kind);
  bool alone = false;  // only of a QuantizeLinear behind what moves values or a DequantizeLinear
  // Only of a function of one integer of 8 bits, which is rounded to f32 at its end.
  bool is_table = false;
};

const std::vector<StepwiseRule>& StepwiseRules();

// Inputs as for ReplayValues. NotSupported: an operator whose result may be any of several.
Result<ReplayResult> ReplayStepwise(const StepwiseRule& rule, const LayerGroup& group,
                                    const std::vector<Tensor>& inputs, const BlobTable& blobs);

}  // namespace plumb

#endif  // PLUMB_CHECK_INTEGER_STEPWISE_H_
