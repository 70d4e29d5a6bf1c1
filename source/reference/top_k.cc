// SPDX-License-Identifier: Apache-2.0
// TopK, PlumbTopK (op/top_k.h): a stable sort of every row. Values and indices are exact but for the device's own
// choice among equal elements (ReferenceOp::picks) and, unsorted, for its order. Uncertain inputs: an order statistic
// is off by no more than the largest tau of its row, and whatever lies within that of it may stand there.
#include "op/top_k.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/by_dtype.h"
#include "reference/core/elementwise.h"

namespace plumb {
namespace {

template <class T>
bool Above(T a, T b) {  // NaN above everything
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && !std::isnan(b);
  }
  return a > b;
}

template <class T>
void Sort(const TopKShape& s, const ReferenceArgs& args) {
  const bool wide = args.outputs[1]->dtype() == DType::kI64;
  const T* x = args.inputs[0]->data<T>();
  ParallelFor(s.outer * s.inner, std::max<int64_t>(1, kElementGrain / (s.size + 1)), [&](int64_t begin, int64_t end) {
    std::vector<int64_t> order(static_cast<size_t>(s.size));
    for (int64_t r = begin; r < end; ++r) {
      const int64_t in = r / s.inner * s.size * s.inner + r % s.inner;
      const int64_t out = r / s.inner * s.k * s.inner + r % s.inner;
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) {
        const T a = x[in + i * s.inner], b = x[in + j * s.inner];
        return s.largest ? Above(a, b) : Above(b, a);
      });
      for (int64_t i = 0; i < s.k; ++i) {
        const int64_t index = order[static_cast<size_t>(i)], at = out + i * s.inner;
        args.outputs[0]->data<T>()[at] = x[in + index * s.inner];
        if (wide) {
          args.outputs[1]->data<int64_t>()[at] = index;
        } else {
          args.outputs[1]->data<int32_t>()[at] = static_cast<int32_t>(index);
        }
      }
    }
  });
}

Status RunTopK(const ReferenceArgs& args) {
  PLUMB_ASSIGN_OR_RETURN(const TopKShape s, ResolveTopK(args.layer, InfosOf(args)));
  return WithNumber(args.inputs[0]->dtype(), [&](auto number) {
    Sort<decltype(number)>(s, args);
    return Status::Ok();
  });
}

bool IsSorted(const Layer& layer) {
  return layer.kind == OpKind::kTopK ? ParamOf<TopKParam>(layer).sorted : ParamOf<PlumbTopKParam>(layer).sorted;
}

// One row of a bound. All pointers are those of the row's first element, `step` apart.
struct Row {
  const TopKShape& s;
  const double *x, *tau_x, *y;  // tau_x may be null
  bool sorted;

  double Tau(int64_t i) const { return tau_x == nullptr ? 0 : tau_x[i * s.inner]; }
  double LargestTau() const {
    double largest = 0;
    for (int64_t i = 0; i < s.size; ++i) largest = std::max(largest, Tau(i));
    return largest;
  }
  // Whether the value is the element's.
  bool Holds(int64_t i, const double* value) const {
    if (value == nullptr) return true;
    const double a = x[i * s.inner];
    return (std::isnan(a) && std::isnan(*value)) || a == *value || std::fabs(a - *value) <= Tau(i);
  }
  // Whether element i may stand at place j, where all that may be off is `off`.
  bool Fits(int64_t i, int64_t j, double off) const {
    const double a = x[i * s.inner];
    if (sorted) {
      const double b = y[j * s.inner];
      return (std::isnan(a) && std::isnan(b)) || a == b || std::fabs(a - b) <= Tau(i) + off;
    }
    const double last = y[(s.k - 1) * s.inner];
    if (std::isnan(a) || std::isnan(last)) return std::isnan(a) == s.largest || std::isnan(last);
    return s.largest ? a + Tau(i) + off >= last : a - Tau(i) - off <= last;
  }
};

// How far the device's choice, or without one the farthest that fits, lies from ours; and what that is in values.
// `values`: what the device wrote for its choice, or null.
void BoundRow(const Row& row, const int64_t* ours, const int64_t* theirs, const double* values, double* tau_y,
              double* tau_i) {
  const TopKShape& s = row.s;
  constexpr double kFree = 64;  // a value of another place is no error of its own
  const double off = row.LargestTau();
  std::vector<bool> taken(static_cast<size_t>(s.size), false);
  for (int64_t j = 0; j < s.k; ++j) {
    const int64_t at = j * s.inner, own = ours[at];
    int64_t farthest = 0;
    double value = off;
    if (theirs != nullptr) {
      const int64_t i = theirs[at];
      const bool known = i >= 0 && i < s.size && !taken[static_cast<size_t>(i)];
      if (known && row.Fits(i, j, off) && row.Holds(i, values == nullptr ? nullptr : values + at)) {
        farthest = std::abs(i - own);
        taken[static_cast<size_t>(i)] = true;
        value = std::max(off, kFree * std::fabs(row.x[i * s.inner] - row.y[at]));
      }
    } else {
      for (int64_t i = 0; i < s.size; ++i) {
        if (!row.Fits(i, j, off)) continue;
        farthest = std::max(farthest, std::abs(i - own));
        if (!row.sorted) value = std::max(value, kFree * std::fabs(row.x[i * s.inner] - row.y[at]));
      }
    }
    tau_y[at] = std::isnan(value) ? off : value;
    tau_i[at] = static_cast<double>(farthest);
  }
}

Status BoundTopK(const ReferenceArgs& args, const BoundArgs& bound) {
  PLUMB_RETURN_IF_ERROR(RunTopK(args));
  PLUMB_ASSIGN_OR_RETURN(const TopKShape s, ResolveTopK(args.layer, InfosOf(args)));
  PLUMB_ASSIGN_OR_RETURN(const Tensor x, args.inputs[0]->ConvertedTo(DType::kF64));
  PLUMB_ASSIGN_OR_RETURN(const Tensor y, args.outputs[0]->ConvertedTo(DType::kF64));
  PLUMB_ASSIGN_OR_RETURN(const Tensor ours, args.outputs[1]->ConvertedTo(DType::kI64));
  const Tensor* device = bound.device_outputs.size() < 2 ? nullptr : bound.device_outputs[1];
  const Tensor* written = device == nullptr ? nullptr : bound.device_outputs[0];
  Tensor theirs, values;
  if (written != nullptr) {
    PLUMB_ASSIGN_OR_RETURN(values, written->ConvertedTo(DType::kF64));
  }
  if (device != nullptr) {
    PLUMB_ASSIGN_OR_RETURN(theirs, device->ConvertedTo(DType::kI64));
  }
  for (int64_t r = 0; r < s.outer * s.inner; ++r) {
    const int64_t in = r / s.inner * s.size * s.inner + r % s.inner, out = r / s.inner * s.k * s.inner + r % s.inner;
    const double* tau_x = InputTau(bound, 0);
    const Row row{s, x.data<double>() + in, tau_x == nullptr ? nullptr : tau_x + in, y.data<double>() + out,
                  IsSorted(args.layer)};
    BoundRow(row, ours.data<int64_t>() + out, device == nullptr ? nullptr : theirs.data<int64_t>() + out,
             written == nullptr ? nullptr : values.data<double>() + out, bound.tau[0]->data<double>() + out,
             bound.tau[1]->data<double>() + out);
  }
  return Status::Ok();
}

ReferenceOp OpTopK() {
  ReferenceOp op{RunTopK, BoundTopK};
  op.picks = true;
  return op;
}

}  // namespace

ReferenceOp ReferenceTopK() { return OpTopK(); }
ReferenceOp ReferencePlumbTopK() { return OpTopK(); }

}  // namespace plumb
