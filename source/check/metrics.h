// Metrics: the classic numbers of a difference between two tensors, computed together in one pass.
#ifndef PLUMB_CHECK_METRICS_H_
#define PLUMB_CHECK_METRICS_H_

#include "plumb/check.h"

namespace plumb {

// REQUIRES: the same element count. Any dtypes; integers are compared exactly in a wider type (int64 by 128 bits).
DiffMetrics CompareTensors(const Tensor& a, const Tensor& b);

// The three differences of a step's output, in one sweep over the three tensors.
struct Differences {
  DiffMetrics introduced;  // device - replay
  DiffMetrics inherited;   // replay - own
  DiffMetrics total;       // device - own
};
Differences CompareThree(const Tensor& device, const Tensor& replay, const Tensor& own);

}  // namespace plumb

#endif  // PLUMB_CHECK_METRICS_H_
