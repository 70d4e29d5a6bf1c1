// TopK, PlumbTopK (op/top_k.h): a stable sort of every row. Values and indices are exact; behind uncertain inputs
// nothing can be judged, because the indices step.
#include "op/top_k.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/by_dtype.h"
#include "device/naive/elementwise.h"

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
void Sort(const TopKShape& s, const NaiveArgs& args) {
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

Status Run(const NaiveArgs& args) {
  PLUMB_ASSIGN_OR_RETURN(const TopKShape s, ResolveTopK(args.layer, InfosOf(args)));
  return WithNumber(args.inputs[0]->dtype(), [&](auto number) {
    Sort<decltype(number)>(s, args);
    return Status::Ok();
  });
}

}  // namespace

NaiveOp NaiveTopK() { return ExactStep<Run>(); }
NaiveOp NaivePlumbTopK() { return ExactStep<Run>(); }

}  // namespace plumb
