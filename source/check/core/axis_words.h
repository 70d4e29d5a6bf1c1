// SPDX-License-Identifier: Apache-2.0
// Names of an output's axes for reasons.
#ifndef PLUMB_CHECK_CORE_AXIS_WORDS_H_
#define PLUMB_CHECK_CORE_AXIS_WORDS_H_

#include <fmt/core.h>

#include <string>

namespace plumb {

// "batch element", "channel", "row", "column" of rank 4; else "batch element" and "index of axis 2".
inline std::string AxisWord(int axis, int rank) {
  static const char* const kWords[] = {"batch element", "channel", "row", "column"};
  if (rank == 4 || (axis == 0 && rank > 1)) return kWords[axis];
  return "index of axis " + std::to_string(axis);
}

// "row 3", "index 3 of axis 2"
inline std::string PlaceWord(int axis, int rank, int64_t at) {
  const std::string word = AxisWord(axis, rank);
  const bool index = word.rfind("index", 0) == 0;
  return index ? fmt::format("index {}{}", at, word.substr(5)) : fmt::format("{} {}", word, at);
}

// "rows 3 to 5"
inline std::string PlaceWords(int axis, int rank, int64_t first, int64_t last) {
  if (first == last) return PlaceWord(axis, rank, first);
  const std::string word = AxisWord(axis, rank), range = fmt::format("{} to {}", first, last);
  const bool index = word.rfind("index", 0) == 0;
  return index ? fmt::format("indices {}{}", range, word.substr(5)) : fmt::format("{}s {}", word, range);
}

}  // namespace plumb

#endif  // PLUMB_CHECK_CORE_AXIS_WORDS_H_
