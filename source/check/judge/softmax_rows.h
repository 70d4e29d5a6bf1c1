// SPDX-License-Identifier: Apache-2.0
// Rows of attention that hold zeros alone: weights add up to 1, however uncertain each of them is. A mask of -1e9
// rounds the scores that it hides, so that where it hides all of a row the bound of each weight is nearly 1, and 0 is
// within it.
#ifndef PLUMB_CHECK_JUDGE_SOFTMAX_ROWS_H_
#define PLUMB_CHECK_JUDGE_SOFTMAX_ROWS_H_

#include "device/kernel.h"
#include "plumb/tensor.h"

namespace plumb {

// How many rows of output `port` of the group the device left 0 where the reference (f64) is not; 0 for any output that
// neither a Softmax nor, behind one in the group, a MatMul writes.
int64_t CountLostRows(const LayerGroup& group, const LayerGroup::Port& port, const Tensor& device,
                      const Tensor& reference);

}  // namespace plumb

#endif  // PLUMB_CHECK_JUDGE_SOFTMAX_ROWS_H_
