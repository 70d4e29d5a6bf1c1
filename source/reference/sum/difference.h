// SPDX-License-Identifier: Apache-2.0
// What a convolution's sums change by when its inputs change a little: sum over k of w[o, k] * (near - x)[k, p] in
// fp32, at twice the speed of float64. Beside sums of x in float64 it gives those of `near` to 2^-34 of the inputs'
// largest magnitude or so: the reference's own run beside a replay (check/judge/own_run.h).
#ifndef PLUMB_REFERENCE_SUM_DIFFERENCE_H_
#define PLUMB_REFERENCE_SUM_DIFFERENCE_H_

#include "reference/sum/products.h"

namespace plumb::reference {

// Whether there is such a sum for the layer: a convolution over two axes that is no depthwise one.
bool HasDifference(const SumGeometry& geometry, const SumOperands& operands);

// Fills out [out_channels][pixels] and returns true; false, and nothing is said, where the inputs are not everywhere
// finite or not close: |near - x| <= 2^-10 of the largest |x|. Same bits for every thread count and instruction set.
// REQUIRES: HasDifference(geometry, operands).
bool SumOfDifferences(const SumGeometry& geometry, const float* weight, const double* x, const double* near,
                      double* out);

}  // namespace plumb::reference

#endif  // PLUMB_REFERENCE_SUM_DIFFERENCE_H_
