// SPDX-License-Identifier: Apache-2.0
// Were the sums inside a softmax or a norm accumulated in fewer bits than they should have been? Each row then has a
// sum, or a mean and a variance, of its own that no bound of f32 explains; the same sums in f16 or bf16 in the device's
// order make the difference collapse.
#ifndef PLUMB_CHECK_CAUSE_NARROW_ROWS_H_
#define PLUMB_CHECK_CAUSE_NARROW_ROWS_H_

#include <string>

#include "check/cause/computed_otherwise.h"

namespace plumb {

// "with the sums of its rows accumulated in f16, in 8 partial sums", or "". For steps of one Softmax, LayerNorm,
// GroupNorm or InstBatchNormCxx, on a sample of its rows.
std::string NameNarrowRows(const ReplayedStep& step);

}  // namespace plumb

#endif  // PLUMB_CHECK_CAUSE_NARROW_ROWS_H_
