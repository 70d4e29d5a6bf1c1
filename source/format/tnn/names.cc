// SPDX-License-Identifier: Apache-2.0
#include "format/tnn/names.h"

#include <fmt/core.h>

namespace plumb::tnn {
namespace {

int HexDigit(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  return -1;
}

}  // namespace

Result<std::string> UnescapeName(std::string_view text) {
  std::string name;
  name.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      name += text[i];
      continue;
    }
    const int high = i + 1 < text.size() ? HexDigit(text[i + 1]) : -1;
    const int low = i + 2 < text.size() ? HexDigit(text[i + 2]) : -1;
    if (high < 0 || low < 0) {
      return Status::CorruptModel(
          fmt::format("name '{}' has a % that is not followed by two hexadecimal digits", text));
    }
    name += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return name;
}

}  // namespace plumb::tnn
