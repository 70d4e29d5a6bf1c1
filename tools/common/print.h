// SPDX-License-Identifier: Apache-2.0
// How tools print: a sentence of ours with values in it, or a text that is laid out already. Both end in
// plumb/tool/terminal.h; nothing else in tools/ writes to the terminal.
#ifndef PLUMB_TOOLS_COMMON_PRINT_H_
#define PLUMB_TOOLS_COMMON_PRINT_H_

#include <fmt/core.h>

#include <string>
#include <string_view>
#include <type_traits>

#include "plumb/tool/terminal.h"

namespace plumb {

// A value on one line: of texts, line breaks and colours are escaped, too.
std::string ShownValue(std::string_view text);
template <class Value>
auto Shown(const Value& value) {
  if constexpr (std::is_arithmetic_v<Value>) {
    return value;
  } else {
    return ShownValue(value);
  }
}

// fmt's format, which is ours, with values that may be anybody's.
template <class... Values>
std::string ShownLine(std::string_view format, const Values&... values) {
  const auto with = [&](const auto&... shown) { return fmt::vformat(format, fmt::make_format_args(shown...)); };
  return with(Shown(values)...);
}
template <class... Values>
bool Print(std::string_view format, const Values&... values) {
  return WriteTerminal(Terminal::kOutput, ShownLine(format, values...));
}
template <class... Values>
bool PrintError(std::string_view format, const Values&... values) {
  return WriteTerminal(Terminal::kError, ShownLine(format, values...));
}

// A report, a table, a message in which names were escaped one by one.
inline bool PrintText(std::string_view text) { return WriteTerminal(Terminal::kOutput, text); }
inline bool PrintErrorText(std::string_view text) { return WriteTerminal(Terminal::kError, text); }

}  // namespace plumb

#endif  // PLUMB_TOOLS_COMMON_PRINT_H_
