// A float32 as text, several times faster than printf and std::to_chars.
//
// WriteShortest: the fewest digits that read back to the same float, character for character what std::to_chars(first,
// last, value) writes. WriteFixed9: character for character what printf("%.9f") writes. Neither knows a locale.
#ifndef PLUMB_FORMAT_TENSOR_FLOAT_TEXT_H_
#define PLUMB_FORMAT_TENSOR_FLOAT_TEXT_H_

#include <cstddef>

namespace plumb {

// Both may scribble up to these many bytes from `out` on, beyond the end that they return.
constexpr int kShortestFloatRoom = 32;
constexpr int kFixed9FloatRoom = 64;

// Returns the end of the text, which is not terminated.
char* WriteShortest(float value, char* out);
char* WriteFixed9(float value, char* out);
char* WriteShortestLines(const float* values, size_t count, char* out);

}  // namespace plumb

#endif  // PLUMB_FORMAT_TENSOR_FLOAT_TEXT_H_
