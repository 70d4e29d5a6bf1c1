// SPDX-License-Identifier: Apache-2.0
#include "base/from_chars.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <string>
#include <string_view>

namespace plumb {
namespace {

const char* SkipDigits(const char* at, const char* end) {
  return std::find_if(at, end, [](char c) { return c < '0' || c > '9'; });
}

// The end of `word`, in either case, at `at`; or `at`.
const char* SkipWord(std::string_view word, const char* at, const char* end) {
  if (end - at < static_cast<std::ptrdiff_t>(word.size())) return at;
  const bool same = std::equal(word.begin(), word.end(), at,
                               [](char a, char b) { return a == std::tolower(static_cast<unsigned char>(b)); });
  return same ? at + word.size() : at;
}

// The end of a number in the form that std::from_chars takes: no blank, no '+', no hexadecimal digits. `at`: none.
const char* SkipNumber(const char* begin, const char* end) {
  const char* const first = begin != end && *begin == '-' ? begin + 1 : begin;
  for (const char* word : {"infinity", "inf", "nan"}) {
    const char* stop = SkipWord(word, first, end);
    if (stop == first) continue;
    if (word[0] != 'n' || stop == end || *stop != '(') return stop;
    const char* close = std::find_if(
        stop + 1, end, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_'; });
    return close != end && *close == ')' ? close + 1 : stop;
  }
  const char* at = SkipDigits(first, end);
  bool digits = at != first;
  if (at != end && *at == '.') {
    const char* fraction = SkipDigits(at + 1, end);
    digits = digits || fraction != at + 1;
    at = fraction;
  }
  if (!digits) return begin;
  if (at != end && (*at == 'e' || *at == 'E')) {
    const char* exponent = at + 1;
    if (exponent != end && (*exponent == '+' || *exponent == '-')) ++exponent;
    const char* stop = SkipDigits(exponent, end);
    if (stop != exponent) at = stop;
  }
  return at;
}

template <class T>
std::from_chars_result Read(const char* begin, const char* end, T* value, T (*parse)(const char*, char**)) {
  const char* stop = SkipNumber(begin, end);
  if (stop == begin) return {begin, std::errc::invalid_argument};
  const std::string text(begin, stop);
  const T read = parse(text.c_str(), nullptr);
  const std::string_view mantissa = std::string_view(text).substr(0, text.find_first_of("eE"));
  const bool named = text.find_first_of("iInN") != std::string::npos;
  const bool too_small = read == 0 && mantissa.find_first_of("123456789") != std::string_view::npos;
  if (!named && (too_small || std::isinf(read))) return {stop, std::errc::result_out_of_range};
  *value = read;
  return {stop, std::errc()};
}

}  // namespace

std::from_chars_result FloatFromChars(const char* begin, const char* end, float* value) {
  return Read(begin, end, value, std::strtof);
}

std::from_chars_result FloatFromChars(const char* begin, const char* end, double* value) {
  return Read(begin, end, value, std::strtod);
}

}  // namespace plumb
