// SPDX-License-Identifier: Apache-2.0
// Rows: the lines of a blob along one axis, and sums over them with their rounding error.
#ifndef PLUMB_REFERENCE_CORE_AXIS_ROWS_H_
#define PLUMB_REFERENCE_CORE_AXIS_ROWS_H_

#include <algorithm>
#include <cmath>

#include "base/threads.h"
#include "op/core/op.h"
#include "reference/core/elementwise.h"
#include "reference/core/serial_sum.h"

namespace plumb {

// outer x inner lines of n elements; element i of a line lies i * inner behind its first.
struct Rows {
  int64_t outer = 1, n = 1, inner = 1;

  // REQUIRES: 0 <= begin <= end <= rank; the axes [begin, end) are the line.
  static Rows Over(const Shape& shape, int begin, int end) {
    return {shape.Count(0, begin), shape.Count(begin, end), shape.CountFrom(end)};
  }

  // f(line number, index of its first element), in parallel.
  template <class F>
  void ForEach(F f) const {
    const int64_t grain = std::max<int64_t>(1, kElementGrain / std::max<int64_t>(n, 1));
    ParallelFor(outer * inner, grain, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) f(r, r / inner * n * inner + r % inner);
    });
  }
};

// Squared error of fp32 summation of these terms, averages out (sig) and does not (d); 0 for d where fp32 overflowed.
inline double SumError2(const SerialSum& sum, double u) {
  const double d2 = sum.d2();
  return sum.sig2(u) + (std::isfinite(d2) ? d2 : 0);
}

// A mean whose error covers both ways to compute it: sum, then divide; and terms times fl(1/n), then sum.
class MeanSum {
 public:
  explicit MeanSum(int64_t n)
      : n_(static_cast<double>(n)), inverse_(1 / static_cast<float>(n)), plain_(n), scaled_(n) {}
  void Add(double term) {
    plain_.Add(term);
    scaled_.Add(static_cast<double>(static_cast<float>(term) * inverse_));
  }
  double value() const { return plain_.value() / n_; }
  double Error2(double u) const {
    const double plain = plain_.d2() / (n_ * n_), scaled = scaled_.d2();
    const double d2 = std::max(std::isfinite(plain) ? plain : 0, std::isfinite(scaled) ? scaled : 0);
    return plain_.sig2(u) / (n_ * n_) + d2;
  }

 private:
  double n_;
  float inverse_;
  SerialSum plain_, scaled_;
};

}  // namespace plumb

#endif  // PLUMB_REFERENCE_CORE_AXIS_ROWS_H_
