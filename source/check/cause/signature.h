// SPDX-License-Identifier: Apache-2.0
// What a wrong output looks like, in words: zeros, turned axes, only the border, a factor, rounded to f16. A hint for
// whoever looks for the cause, no verdict.
#ifndef PLUMB_CHECK_CAUSE_SIGNATURE_H_
#define PLUMB_CHECK_CAUSE_SIGNATURE_H_

#include <string>

#include "plumb/tensor.h"

namespace plumb {

// "" when it looks like nothing that is known. tau (f64): what differs by less is right; null: what differs by less
// than a thousandth of the largest difference. REQUIRES: the same shape.
std::string DescribeDifference(const Tensor& device, const Tensor& reference, const Tensor* tau = nullptr);

}  // namespace plumb

#endif  // PLUMB_CHECK_CAUSE_SIGNATURE_H_
