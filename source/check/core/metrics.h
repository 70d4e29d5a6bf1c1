// SPDX-License-Identifier: Apache-2.0
// Metrics: the classic numbers of a difference between two tensors, computed together in one pass.
#ifndef PLUMB_CHECK_CORE_METRICS_H_
#define PLUMB_CHECK_CORE_METRICS_H_

#include "plumb/check.h"

namespace plumb {

// REQUIRES: the same element count. Any dtypes; integers are compared exactly in a wider type (int64 by 128 bits).
DiffMetrics CompareTensors(const Tensor& a, const Tensor& b);

// "Relative", where a whole tensor is meant: the largest difference over the largest finite |b|. 0: none; infinite: b
// has nothing but zeros. (DiffMetrics::max_rel is the largest of the elements' own.)
double RelativeDifference(const DiffMetrics& difference, const Tensor& b);
// The largest finite magnitude; 0 where there is none.
double LargestMagnitude(const Tensor& tensor);

// Of a - b and |a - b|, where both are finite. REQUIRES: the same dtype, f32, f64 or i64, and element count.
struct DifferenceSums {
  double sum = 0, sum_abs = 0;
};
DifferenceSums SumDifferences(const Tensor& a, const Tensor& b);

// The three differences of a step's output, in one sweep over the three tensors.
struct Differences {
  DiffMetrics introduced;  // device - replay
  DiffMetrics inherited;   // replay - own
  DiffMetrics total;       // device - own
};
Differences CompareThree(const Tensor& device, const Tensor& replay, const Tensor& own);

}  // namespace plumb

#endif  // PLUMB_CHECK_CORE_METRICS_H_
