// SPDX-License-Identifier: Apache-2.0
// PlumbReverseSequence: along time_axis the first sequence_lens[b] elements of batch entry b are turned round, the rest
// stays. Inputs: the data and one length per entry of batch_axis.
#ifndef PLUMB_OP_REVERSE_SEQUENCE_H_
#define PLUMB_OP_REVERSE_SEQUENCE_H_

#include "op/core/op.h"

namespace plumb {

struct ReverseSequenceParam : ParamBase<ReverseSequenceParam> {
  int batch_axis = 1;
  int time_axis = 0;
  void Visit(ParamVisitor& v) override {
    v.Int("batch_axis", batch_axis);
    v.Int("time_axis", time_axis);
  }
};

// For each output element the input element it is. InvalidArgument when a length is outside 0 .. time.
Result<std::vector<int64_t>> ReversedElements(const Layer& layer, const Shape& data, const Tensor& lengths);

}  // namespace plumb

#endif  // PLUMB_OP_REVERSE_SEQUENCE_H_
