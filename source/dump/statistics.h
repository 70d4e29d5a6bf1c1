// SPDX-License-Identifier: Apache-2.0
// Statistics of one blob in one pass over its memory: what a manifest says of every file, and alone with
// DUMP_BLOB_STATS=1.
//
// min, max, mean, std (of the population) and sum are over the finite values, accumulated in float64; NaN and
// infinities are counted beside them. Each piece of some thousand values is read twice while it is in the first-level
// cache: for its sum, then for the squared distances from its own mean, which are merged pairwise (Chan, Golub, LeVeque
// 1979), so that a large mean costs no digits of std.
#ifndef PLUMB_DUMP_STATISTICS_H_
#define PLUMB_DUMP_STATISTICS_H_

#include <cstdint>
#include <memory>

#include "plumb/tensor.h"

namespace plumb {

constexpr int kMaxDistinct = 256;

struct Statistics {
  int64_t count = 0;   // elements
  int64_t finite = 0;  // of them; when 0, min max mean std mean nothing
  int64_t zeros = 0;
  int64_t subnormals = 0;  // of the blob's own dtype
  int64_t nans = 0;
  int64_t infinities = 0;
  double min = 0;
  double max = 0;
  double mean = 0;
  double std = 0;
  double sum = 0;
  bool integer = false;  // then min and max are exact here:
  int64_t min_integer = 0;
  int64_t max_integer = 0;
  int distinct = 0;  // different values (NaN is one, -0 is 0); -1: more than kMaxDistinct
};

Statistics ComputeStatistics(const Tensor& tensor);

// The same for f32 values that come in pieces, so that whoever streams them reads them from memory once.
class FloatStatistics {
 public:
  FloatStatistics();
  ~FloatStatistics();
  FloatStatistics(const FloatStatistics&) = delete;
  FloatStatistics& operator=(const FloatStatistics&) = delete;
  void Add(const float* values, int64_t count);
  Statistics Finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Counts different values up to kMaxDistinct; a run of the same value costs one comparison each.
class DistinctCounter {
 public:
  void Add(uint64_t value);
  bool overflowed() const { return count_ > kMaxDistinct; }
  int count() const { return overflowed() ? -1 : count_; }

 private:
  static constexpr int kSlots = 1024;
  uint64_t slots_[kSlots];
  bool used_[kSlots] = {};
  uint64_t last_ = 0;
  int count_ = 0;
};

namespace internal {

// What the vector kernel says of a piece of floats.
struct FloatPiece {
  uint32_t max_magnitude_bits = 0;  // 0x7F800000 and above: something is not finite, and the sums mean nothing
  int64_t zeros = 0;
  int64_t tiny = 0;  // zeros and subnormals
  float min = 0;
  float max = 0;
  double sum = 0;
};

FloatPiece ScanFloats(const float* values, int64_t count);  // count > 0
double SquaredDistances(const float* values, int64_t count, double mean);

}  // namespace internal
}  // namespace plumb

#endif  // PLUMB_DUMP_STATISTICS_H_
