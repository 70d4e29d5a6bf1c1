// SPDX-License-Identifier: Apache-2.0
// tau of y = base^exponent for kernels that compute exp2(exponent * log2 base), the wider of the two classes that
// tolerance.md measured: 8 u |y| (1 + |exponent ln base|).
#ifndef PLUMB_REFERENCE_POWER_TAU_H_
#define PLUMB_REFERENCE_POWER_TAU_H_

#include <cmath>

namespace plumb {

inline double PowerTau(double base, double exponent, double y, double u) {
  if (y == 0 || !std::isfinite(y)) return 0;
  const double amplification = std::fabs(exponent * std::log(std::fabs(base)));
  return 8 * u * std::fabs(y) * (std::isnan(amplification) ? 1 : 1 + amplification);  // NaN: x^0, 1^inf
}

}  // namespace plumb

#endif  // PLUMB_REFERENCE_POWER_TAU_H_
