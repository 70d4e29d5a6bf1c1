// SPDX-License-Identifier: Apache-2.0
// std::from_chars, for floats too: libc++ before 20, and so Android's NDK, has it for integers only.
#ifndef PLUMB_BASE_FROM_CHARS_H_
#define PLUMB_BASE_FROM_CHARS_H_

#include <charconv>
#include <type_traits>

namespace plumb {

// By C's strtof and strtod. Of a number that is too small or too large *value is left as it was, as std::from_chars
// does. Knows the process's locale where there are locales: there std::from_chars is taken.
std::from_chars_result FloatFromChars(const char* begin, const char* end, float* value);
std::from_chars_result FloatFromChars(const char* begin, const char* end, double* value);

template <class T>
std::from_chars_result FromChars(const char* begin, const char* end, T* value) {
#if !defined(__cpp_lib_to_chars)
  if constexpr (std::is_floating_point_v<T>) {
    return FloatFromChars(begin, end, value);
  } else  // NOLINT(readability/braces)
#endif
    return std::from_chars(begin, end, *value);
}

}  // namespace plumb

#endif  // PLUMB_BASE_FROM_CHARS_H_
