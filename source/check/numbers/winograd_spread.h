// SPDX-License-Identifier: Apache-2.0
// Whether the errors of one convolution are spread as Winograd's algorithm spreads them. Runtimes choose it layer by
// layer (MNN, ncnn by the sizes of map and channels), so that a single layer of a healthy run may be the only one of
// its kind; but its bound is up to 280 times the direct one, in which faults hide. What tells them apart:
//   size        the errors are no larger than the bound of one form of the algorithm allows, and follow it from value
//               to value more closely than the direct one
//   everywhere  every second channel, row, column and batch element at least has its share, no value stands out
//   at random   neither a factor nor an offset of each channel explains them
#ifndef PLUMB_CHECK_NUMBERS_WINOGRAD_SPREAD_H_
#define PLUMB_CHECK_NUMBERS_WINOGRAD_SPREAD_H_

#include "plumb/tensor.h"

namespace plumb {

// An output, f32, beside its exact values and its two bounds, f64.
struct WinogradErrors {
  const Tensor &device, &exact, &direct_tau, &winograd_tau;
};

// False where there are fewer than 64 values that tell.
bool SpreadAsWinograd(const WinogradErrors& errors);

}  // namespace plumb

#endif  // PLUMB_CHECK_NUMBERS_WINOGRAD_SPREAD_H_
