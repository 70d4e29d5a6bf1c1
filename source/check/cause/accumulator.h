// Was a sum of products accumulated in fewer bits than it should have been? The signature of a low-precision
// accumulator: the difference collapses when the same terms are summed in f16 or bf16 in the device's order.
#ifndef PLUMB_CHECK_CAUSE_ACCUMULATOR_H_
#define PLUMB_CHECK_CAUSE_ACCUMULATOR_H_

#include <string>

#include "check/cause/computed_otherwise.h"

namespace plumb {

// "accumulated in f16, channels innermost, in 4 partial sums", or "". For steps of one Convolution, InnerProduct,
// MatMul with a constant operand, sum, mean or average pooling, on a sample of its outputs.
std::string NameAccumulator(const ReplayedStep& step);

}  // namespace plumb

#endif  // PLUMB_CHECK_CAUSE_ACCUMULATOR_H_
