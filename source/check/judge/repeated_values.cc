// SPDX-License-Identifier: Apache-2.0
#include "check/judge/repeated_values.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <vector>

namespace plumb {

double RmsOfDistinct(const JudgeInput& input, int64_t channel, int64_t channels) {
  constexpr size_t kFewest = 64;
  const Shape& shape = input.reference.shape();
  const int64_t plane = shape.rank() >= 2 ? shape.CountFrom(2) : shape.NumElements();
  const int64_t batch = shape.rank() >= 2 ? shape[0] : 1;
  std::vector<std::tuple<float, float, double>> values;  // reference, device, (e / tau)^2
  for (int64_t n = 0; n < batch; ++n) {
    const int64_t first = (n * shape.DimOrOne(1) * (shape.rank() >= 2) + channel) * plane;
    for (int64_t i = first; i < first + channels * plane; ++i) {
      const double y = input.reference.data<double>()[i],
                   ratio = (static_cast<double>(input.device.data<float>()[i]) - y) / input.tau.data<double>()[i];
      if (std::isfinite(ratio))
        values.emplace_back(static_cast<float>(y), input.device.data<float>()[i], ratio * ratio);
    }
  }
  std::sort(values.begin(), values.end());
  double squares = 0;
  size_t distinct = 0;
  for (size_t i = 0; i < values.size(); ++i) {  // of equal ones the last, which is the furthest off
    const bool repeated = i + 1 < values.size() && std::get<0>(values[i]) == std::get<0>(values[i + 1]) &&
                          std::get<1>(values[i]) == std::get<1>(values[i + 1]);
    if (repeated) continue;
    squares += std::get<2>(values[i]);
    ++distinct;
  }
  return 8 * std::sqrt(squares / static_cast<double>(std::max(distinct, kFewest)));
}

}  // namespace plumb
