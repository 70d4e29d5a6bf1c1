// SPDX-License-Identifier: Apache-2.0
// What is wrong with where right integers stand, along one axis.
#include <fmt/core.h>

#include "check/integer/integer_faults.h"

namespace plumb {
namespace {

struct Axis {
  int64_t dim, inner;
  int64_t At(size_t i) const { return static_cast<int64_t>(i) / inner % dim; }
  // The element at another place of the axis.
  size_t With(size_t i, int64_t place) const {
    return static_cast<size_t>(static_cast<int64_t>(i) + (place - At(i)) * inner);
  }
};

template <class F>
size_t OffBy(const std::vector<int64_t>& device, F integer) {
  size_t off = 0;
  for (size_t i = 0; i < device.size(); ++i) off += device[i] != integer(i) ? 1 : 0;
  return off;
}

}  // namespace

std::string NameMoved(const Shape& shape, const std::vector<int64_t>& right, int64_t zero,
                      const std::vector<int64_t>& device) {
  if (right.size() != device.size()) return "";
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    const Axis along{shape[axis], shape.CountFrom(axis + 1)};
    const int64_t last = along.dim - 1;
    if (last < 1) continue;
    const auto is = [&](const auto& integer) { return OffBy(device, integer) == 0; };
    if (is([&](size_t i) { return right[along.With(i, last - along.At(i))]; }))
      return fmt::format("with axis {} in reverse; the graph says in order", axis);
    if (is([&](size_t i) { return along.At(i) == last ? right[along.With(i, last - 1)] : right[i]; }))
      return fmt::format("with the last entry of axis {} copied from the one before; the graph says its own", axis);
    if (is([&](size_t i) { return along.At(i) == last ? zero : right[i]; }))
      return fmt::format("without the last entry of axis {}, which is the zero point everywhere; the graph says all",
                         axis);
  }
  const size_t off = OffBy(device, [&](size_t i) { return right[i]; });
  const size_t far = OffBy(device, [&](size_t i) {
    const int64_t apart = device[i] - right[i];
    return apart == 1 || apart == -1 ? device[i] : right[i];
  });
  const bool few = off > 0 && far == 0 && off * 20 < device.size();
  return few ? fmt::format("with one step more or less in {} of {} integers; the graph says the nearest", off,
                           device.size())
             : "";
}

}  // namespace plumb
