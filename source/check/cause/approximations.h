// SPDX-License-Identifier: Apache-2.0
// Approximations of a function that no table of formulas can list: cut off at a limit, read from a table of so many
// entries, a polynomial. Which one is found from what the device wrote for each x.
#ifndef PLUMB_CHECK_CAUSE_APPROXIMATIONS_H_
#define PLUMB_CHECK_CAUSE_APPROXIMATIONS_H_

#include <functional>
#include <string>
#include <vector>

#include "plumb/tensor.h"

namespace plumb {

struct Approximation {
  std::string words;  // "Tanh cut off at |x| > 4"
  std::function<double(double x)> y;
};

// Those of the function that leave less than half of what the device's values differ by; the plainest first. x and
// device: f64 or f32, of the same shape.
std::vector<Approximation> FindApproximations(const std::string& name, double (*function)(double), const Tensor& x,
                                              const Tensor& device);

}  // namespace plumb

#endif  // PLUMB_CHECK_CAUSE_APPROXIMATIONS_H_
