// SPDX-License-Identifier: Apache-2.0
// The terms of some outputs of a step of one sum of products or of plain terms: what a hypothesis about its weights,
// operands or accumulator makes of them costs next to nothing, where a replay of the step costs all of it.
#ifndef PLUMB_CHECK_CAUSE_SAMPLE_SUMS_H_
#define PLUMB_CHECK_CAUSE_SAMPLE_SUMS_H_

#include <cstdint>
#include <vector>

#include "check/cause/computed_otherwise.h"

namespace plumb {

// One output's sum: its terms in the order of the weights, channel by channel, and its bias.
struct SampleSum {
  std::vector<float> x, w;
  float bias = 0;
  int64_t inner = 1;  // terms of one channel
  int64_t output = 0;
  int64_t channel = 0;  // of the bias
  double divisor = 1;   // of the whole sum
  double gain = 1;      // of the step's output by the sum
};

// Of evenly spread outputs; empty where the step is none that is known here: one Convolution, InnerProduct or MatMul
// with a constant operand, without activation, behind layers that only move its input.
std::vector<SampleSum> SampleOf(const ReplayedStep& step);

struct ProductSample {
  Tensor input;  // of the product; f64
  std::vector<SampleSum> sums;
};
// The same of a member that may be followed by sums with other values, batch normalisation and, at the end, ReLU, ReLU6
// or Clip, of outputs that these leave as they are, or QuantizeLinear, of integers between the ends.
ProductSample SampleOfMember(const ReplayedStep& step, size_t member);
// The same of the outputs that are off most.
ProductSample WorstOfMember(const ReplayedStep& step, size_t member);
// The same of sums and means: ReduceSum, ReduceMean, ReduceL1, ReduceSumSquare, average pooling. Weights of 1, or the
// terms themselves where squares are summed.
std::vector<SampleSum> SampleOfTerms(const ReplayedStep& step);

}  // namespace plumb

#endif  // PLUMB_CHECK_CAUSE_SAMPLE_SUMS_H_
