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

std::vector<std::string> SourceLinesOf(const StepInfo& step) {
  std::vector<std::string> lines;
  for (const MemberInfo& member : step.members) {
    const bool is_new = std::find(lines.begin(), lines.end(), member.source_line) == lines.end();
    if (is_new && !member.source_line.empty()) lines.push_back(member.source_line);
  }
  return lines;
}

std::string Coordinates(int64_t index, const Shape& shape) {
  std::vector<int64_t> at(static_cast<size_t>(shape.rank()));
  for (int d = shape.rank() - 1; d >= 0; --d) {
    at[static_cast<size_t>(d)] = index % shape[d];
    index /= shape[d];
  }
  return Shape(std::move(at)).ToString();
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
