// SPDX-License-Identifier: Apache-2.0
// x Phi(x), Phi the normal distribution's: within one ULP of a float64 for every x, and the same bits on every machine.
#ifndef PLUMB_REFERENCE_CORE_GELU_H_
#define PLUMB_REFERENCE_CORE_GELU_H_

namespace plumb {

// GELU(-inf) is NaN, as -inf * Phi(-inf) is.
double Gelu(double x);

}  // namespace plumb

#endif  // PLUMB_REFERENCE_CORE_GELU_H_
