// SPDX-License-Identifier: Apache-2.0
// The input comes first: the same network input as two sources have it (-i, golden, subject), and what would explain a
// difference: channels swapped, NCHW read as NHWC, another mean or scale. An order-invariant number never acquits.
#ifndef PLUMB_CHECK_CAUSE_INPUT_MATCH_H_
#define PLUMB_CHECK_CAUSE_INPUT_MATCH_H_

#include <string>

#include "plumb/report.h"

namespace plumb {

// Compares element by element; `a` and `b` are named in the result by `name_a`, `name_b`. REQUIRES: the same dtype and
// shape. Differences within f32 rounding of the largest value are none.
InputMatch MatchInputs(const std::string& input, const std::string& name_a, const Tensor& a, const std::string& name_b,
                       const Tensor& b);

}  // namespace plumb

#endif  // PLUMB_CHECK_CAUSE_INPUT_MATCH_H_
