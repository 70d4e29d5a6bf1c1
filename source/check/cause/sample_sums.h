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
};

// Of evenly spread outputs; empty where the step is none that is known here: one Convolution, InnerProduct or MatMul
// with a constant operand, without activation.
std::vector<SampleSum> SampleOf(const ReplayedStep& step);
// The same of sums and means: ReduceSum, ReduceMean, ReduceL1, ReduceSumSquare, average pooling. Weights of 1, or the
// terms themselves where squares are summed.
std::vector<SampleSum> SampleOfTerms(const ReplayedStep& step);

}  // namespace plumb

#endif  // PLUMB_CHECK_CAUSE_SAMPLE_SUMS_H_
