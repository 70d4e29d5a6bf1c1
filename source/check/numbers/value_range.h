// SPDX-License-Identifier: Apache-2.0
// ValueRange: between which values a tensor lies, by which scales are chosen.
#ifndef PLUMB_CHECK_NUMBERS_VALUE_RANGE_H_
#define PLUMB_CHECK_NUMBERS_VALUE_RANGE_H_

#include <vector>

#include "plumb/tensor.h"

namespace plumb {

struct ValueRange {
  double low = 0, high = 0;
  void Add(double v);
  double largest() const;
};
ValueRange ValuesRange(const std::vector<double>& values);
ValueRange ValuesRange(const Tensor& tensor);

}  // namespace plumb

#endif  // PLUMB_CHECK_NUMBERS_VALUE_RANGE_H_
