// SPDX-License-Identifier: Apache-2.0
// The shortest decimal digits of float32 values, many at once: the arithmetic half of float_text.h, vectorised.
#ifndef PLUMB_TENSOR_SHORTEST_DIGITS_H_
#define PLUMB_TENSOR_SHORTEST_DIGITS_H_

#include <cstddef>
#include <cstdint>

namespace plumb {

// |value| = 0.d1d2d3...d9 * 10^point with the fewest significant digits, followed by zeros; 0 has point 1.
struct ShortestDigits {
  static constexpr size_t kBatch = 32;
  static constexpr uint64_t kNone = ~uint64_t{0};
  static constexpr int kPointBias = 64;

  uint64_t rest[kBatch];  // d2 in the lowest byte ... d9 in the highest
  uint64_t head[kBatch];  // d1 | (point + kPointBias) << 8; kNone for subnormals, 2^24 and more, infinities and NaN
};

// Fills all of *digits from kBatch values, with the widest vectors that the CPU has; the same digits on every CPU.
void ComputeShortestDigits(const float* values, ShortestDigits* digits);

}  // namespace plumb

#endif  // PLUMB_TENSOR_SHORTEST_DIGITS_H_
