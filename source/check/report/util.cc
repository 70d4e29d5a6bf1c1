// SPDX-License-Identifier: Apache-2.0
#include "check/report/util.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "check/core/metrics.h"

namespace plumb {

std::string TypesOf(const StepInfo& step) {
  std::string types;
  for (const MemberInfo& member : step.members) types += (types.empty() ? "" : "+") + member.type;
  return types;
}

std::string Coordinates(int64_t index, const Shape& shape) {
  std::vector<int64_t> at(static_cast<size_t>(shape.rank()));
  for (int d = shape.rank() - 1; d >= 0; --d) {
    at[static_cast<size_t>(d)] = index % shape[d];
    index /= shape[d];
  }
  return Shape(std::move(at)).ToString();
}

bool IsScoreVector(const Shape& shape) {
  int64_t largest = 0;
  for (int64_t dim : shape.dims()) largest = std::max(largest, dim);
  return largest >= 5 && largest == shape.NumElements();
}

std::vector<int64_t> TopIndices(const Tensor& tensor, int count) {
  std::vector<int64_t> order(static_cast<size_t>(tensor.NumElements()));
  std::iota(order.begin(), order.end(), 0);
  const auto key = [&](int64_t i) {
    const double value = tensor.ValueAt(i);
    return std::isnan(value) ? -INFINITY : value;
  };
  const auto end = order.begin() + std::min<ptrdiff_t>(count, static_cast<ptrdiff_t>(order.size()));
  std::partial_sort(order.begin(), end, order.end(),
                    [&](int64_t a, int64_t b) { return key(a) != key(b) ? key(a) > key(b) : a < b; });
  order.resize(static_cast<size_t>(end - order.begin()));
  return order;
}

std::optional<Agreement> WorstAgreement(const RunReport& run) {
  std::optional<Agreement> worst;
  for (const OutputSummary& output : run.outputs) {
    if (output.reference.empty() || output.reference.shape() != output.device.shape()) continue;
    const double relative = RelativeDifference(CompareTensors(output.device, output.reference), output.reference);
    if (!worst || relative > worst->relative) worst = Agreement{output.name, relative};
  }
  return worst;
}

Range RangeOf(const Tensor& tensor) {
  Range range;
  const int64_t count = tensor.NumElements();
  if (count == 0) return range;
  range.min = INFINITY;
  range.max = -INFINITY;
  for (int64_t i = 0; i < count; ++i) {
    const double value = tensor.ValueAt(i);
    range.min = std::min(range.min, value);
    range.max = std::max(range.max, value);
    range.mean += value;
  }
  range.mean /= static_cast<double>(count);
  return range;
}

}  // namespace plumb
