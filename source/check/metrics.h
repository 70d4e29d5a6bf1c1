// Metrics: the classic numbers of a difference between two tensors, computed together in one pass.
#ifndef PLUMB_CHECK_METRICS_H_
#define PLUMB_CHECK_METRICS_H_

#include "plumb/check.h"

namespace plumb {

// REQUIRES: the same element count. Any dtypes; integers are compared exactly in a wider type (int64 by 128 bits).
DiffMetrics CompareTensors(const Tensor& a, const Tensor& b);

}  // namespace plumb

#endif  // PLUMB_CHECK_METRICS_H_
