// SPDX-License-Identifier: Apache-2.0
// SerialSum: a float64 sum of known length that also measures how fp32 summation may err on exactly these terms.
// sig^2 = u^2 * sum of s_j^2 over 16 block ends, each weighted with its block's length (s_j the partial sums), the
// largest over one accumulator and 2, 4 and 8 that take turns, as vector kernels sum: where neighbours cancel, these
// grow far beyond the sum; d = max over the block ends of |the same terms summed serially in fp32 - in float64|
// (tolerance.md, "The rule").
#ifndef PLUMB_REFERENCE_CORE_SERIAL_SUM_H_
#define PLUMB_REFERENCE_CORE_SERIAL_SUM_H_

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

namespace plumb {

class SerialSum {
 public:
  explicit SerialSum(int64_t terms) : block_(std::max<int64_t>(1, (terms + 15) / 16)) {}

  void Add(double term) {
    sum_ += term;
    lanes_[count_++ % static_cast<size_t>(kLanes)] += term;
    serial_ += static_cast<float>(term);
    if (++in_block_ == block_) EndBlock();
  }
  double value() const { return sum_; }
  // Variance of fp32 accumulation in any order like this one.
  double sig2(double u) const {
    Squares squares = squares_;
    AddBlock(&squares);
    return u * u * std::max({squares[0], squares[1], squares[2], squares[3]});
  }
  // Squared worst error of serial fp32 summation.
  double d2() const {
    const double d = std::max(d_, std::fabs(static_cast<double>(serial_) - sum_));
    return d * d;
  }

 private:
  static constexpr int kLanes = 8;
  using Squares = std::array<double, 4>;  // with 1, 2, 4 and 8 accumulators

  // What the additions of this block rounded, by the accumulators as they stand now.
  void AddBlock(Squares* squares) const {
    std::array<double, static_cast<size_t>(kLanes)> lanes = lanes_;
    for (int width = kLanes, at = 3; at >= 0; width /= 2, --at) {
      double mean = 0;
      for (int l = 0; l < width; ++l) mean += lanes[static_cast<size_t>(l)] * lanes[static_cast<size_t>(l)] / width;
      (*squares)[static_cast<size_t>(at)] += static_cast<double>(in_block_) * mean;
      for (int l = 0; l < width / 2; ++l) lanes[static_cast<size_t>(l)] += lanes[static_cast<size_t>(l + width / 2)];
    }
  }

  void EndBlock() {
    AddBlock(&squares_);
    d_ = std::max(d_, std::fabs(static_cast<double>(serial_) - sum_));
    in_block_ = 0;
  }

  int64_t block_;
  int64_t in_block_ = 0;
  double sum_ = 0;
  float serial_ = 0;
  Squares squares_ = {};
  std::array<double, static_cast<size_t>(kLanes)> lanes_ = {};
  size_t count_ = 0;
  double d_ = 0;
};

}  // namespace plumb

#endif  // PLUMB_REFERENCE_CORE_SERIAL_SUM_H_
