// SPDX-License-Identifier: Apache-2.0
// float32 values as text, several times faster than printf and std::to_chars. Neither function knows a locale.
#ifndef PLUMB_TENSOR_FLOAT_TEXT_H_
#define PLUMB_TENSOR_FLOAT_TEXT_H_

#include <cstddef>

namespace plumb {

// Room for one value and its newline; what lies behind the returned end, up to that room, may be overwritten.
constexpr int kShortestFloatRoom = 32;
constexpr int kFixed9FloatRoom = 64;

// A line per value with the fewest digits that read back to the same float, character for character what
// std::to_chars(first, last, value) writes. Returns the end. REQUIRES: room for count + 1 values.
char* WriteShortestLines(const float* values, size_t count, char* out);

// Character for character what printf("%.9f") writes, without a newline. Returns the end.
char* WriteFixed9(float value, char* out);

}  // namespace plumb

#endif  // PLUMB_TENSOR_FLOAT_TEXT_H_
