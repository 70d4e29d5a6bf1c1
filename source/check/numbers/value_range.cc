// SPDX-License-Identifier: Apache-2.0
#include "check/numbers/value_range.h"

#include <algorithm>

namespace plumb {

void ValueRange::Add(double v) { low = std::min(low, v), high = std::max(high, v); }
double ValueRange::largest() const { return std::max(-low, high); }

ValueRange ValuesRange(const std::vector<double>& values) {
  if (values.empty()) return {};
  ValueRange range{values[0], values[0]};
  for (const double v : values) range.Add(v);
  return range;
}

ValueRange ValuesRange(const Tensor& tensor) {
  const int64_t count = tensor.NumElements();
  if (count == 0) return {};
  ValueRange range{tensor.ValueAt(0), tensor.ValueAt(0)};
  const auto add = [&](const auto* values) {
    for (int64_t i = 1; i < count; ++i) range.Add(static_cast<double>(values[i]));
  };
  if (tensor.dtype() == DType::kF32) {
    add(tensor.data<float>());
  } else if (tensor.dtype() == DType::kF64) {
    add(tensor.data<double>());
  } else {
    for (int64_t i = 1; i < count; ++i) range.Add(tensor.ValueAt(i));
  }
  return range;
}

}  // namespace plumb
