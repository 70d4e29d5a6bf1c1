// SPDX-License-Identifier: Apache-2.0
// Overflow: a device's values are infinite or NaN where the reference, which computes in f64, has finite ones because
// an intermediate value passes f32's largest (squares of 1e20, say). Found before other causes: two infinities agree
// with any.
#ifndef PLUMB_CHECK_CAUSE_OVERFLOW_H_
#define PLUMB_CHECK_CAUSE_OVERFLOW_H_

#include <string>
#include <vector>

#include "check/cause/computed_otherwise.h"

namespace plumb {

// "overflow: the squares that 'norm' (ReduceL2) sums reach 8e+40, beyond f32's 3.4e+38; 12 values are infinite or NaN
// for it", or the other way round, "clamped to f32's range: ...": finite where the layer gives infinity (LiteRT's Add
// and Mul). "" when nothing is, or no intermediate value of the step is that large.
std::string DescribeOverflow(const ReplayedStep& step);

}  // namespace plumb

#endif  // PLUMB_CHECK_CAUSE_OVERFLOW_H_
