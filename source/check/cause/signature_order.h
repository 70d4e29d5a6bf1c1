// SPDX-License-Identifier: Apache-2.0
// Signatures of right values in the wrong place: other axes, packed channels, shifted pixels.
#ifndef PLUMB_CHECK_CAUSE_SIGNATURE_ORDER_H_
#define PLUMB_CHECK_CAUSE_SIGNATURE_ORDER_H_

#include <string>
#include <vector>

#include "plumb/tensor.h"

namespace plumb {

// A wrong output and what it should be; all values are finite.
struct WrongOutput {
  const Shape& shape;
  std::vector<double> x, y;        // device, reference
  double largest = 0;              // |y|
  double error = 0;                // |x - y|
  std::vector<bool> differs = {};  // element by element
  int64_t differing = 0;
};

constexpr double kSameValue = 1e-4;  // of the largest value: far above rounding, far below another arrangement

// "" when it is not that.
std::string DescribeAxes(const WrongOutput& p);
std::string DescribeChannels(const WrongOutput& p);
std::string DescribeShift(const WrongOutput& p);
std::string DescribeReordered(const WrongOutput& p);

}  // namespace plumb

#endif  // PLUMB_CHECK_CAUSE_SIGNATURE_ORDER_H_
