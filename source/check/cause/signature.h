// What a wrong output looks like, in words: zeros, turned axes, only the border, a factor, rounded to f16. A hint for
// whoever looks for the cause, no verdict.
#ifndef PLUMB_CHECK_CAUSE_SIGNATURE_H_
#define PLUMB_CHECK_CAUSE_SIGNATURE_H_

#include <string>

#include "plumb/tensor.h"

namespace plumb {

// "" when it looks like nothing that is known. REQUIRES: the same shape.
std::string DescribeDifference(const Tensor& device, const Tensor& reference);

}  // namespace plumb

#endif  // PLUMB_CHECK_CAUSE_SIGNATURE_H_
