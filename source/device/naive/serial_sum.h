// SerialSum: a float64 sum of known length that also measures how fp32 summation may err on exactly these terms.
// sig^2 = u^2 * sum of s_j^2 over 16 block ends, each weighted with its block's length (s_j the partial sums);
// d = max over the block ends of |the same terms summed serially in fp32 - in float64| (tolerance.md, "The rule").
#ifndef PLUMB_DEVICE_NAIVE_SERIAL_SUM_H_
#define PLUMB_DEVICE_NAIVE_SERIAL_SUM_H_

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace plumb {

class SerialSum {
 public:
  explicit SerialSum(int64_t terms) : block_(std::max<int64_t>(1, (terms + 15) / 16)) {}

  void Add(double term) {
    sum_ += term;
    serial_ += static_cast<float>(term);
    if (++in_block_ == block_) EndBlock();
  }
  double value() const { return sum_; }
  // Variance of fp32 accumulation in any order like this one.
  double sig2(double u) const { return u * u * (squares_ + static_cast<double>(in_block_) * sum_ * sum_); }
  // Squared worst error of serial fp32 summation.
  double d2() const {
    const double d = std::max(d_, std::fabs(static_cast<double>(serial_) - sum_));
    return d * d;
  }

 private:
  void EndBlock() {
    squares_ += static_cast<double>(in_block_) * sum_ * sum_;
    d_ = std::max(d_, std::fabs(static_cast<double>(serial_) - sum_));
    in_block_ = 0;
  }

  int64_t block_;
  int64_t in_block_ = 0;
  double sum_ = 0;
  float serial_ = 0;
  double squares_ = 0;
  double d_ = 0;
};

}  // namespace plumb

#endif  // PLUMB_DEVICE_NAIVE_SERIAL_SUM_H_
