// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <cctype>
#include <cstdint>
#include <cstdio>

#include "base/character.h"
#include "plumb/tool/printing.h"

namespace plumb {
namespace {

struct Character {
  uint32_t code = 0;
  size_t bytes = 1;
  bool valid = false;
};

// The character that starts at text[at]; overlong forms, surrogates and what lies beyond U+10FFFF are not valid.
Character Decode(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t first = byte(at);
  if (first < 0x80) return {first, 1, true};
  const size_t bytes = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || at + bytes > text.size()) return {first, 1, false};
  uint32_t code = first & (0xFFu >> (bytes + 1));
  for (size_t i = 1; i < bytes; ++i) {
    if ((byte(at + i) & 0xC0) != 0x80) return {first, 1, false};
    code = code << 6 | (byte(at + i) & 0x3Fu);
  }
  const bool overlong = (bytes == 3 && code < 0x800) || (bytes == 4 && code < 0x10000);
  if (overlong || (code >= 0xD800 && code <= 0xDFFF) || code > 0x10FFFF) return {first, 1, false};
  return {code, bytes, true};
}

bool MustEscape(uint32_t code) {
  const auto in = [code](uint32_t low, uint32_t high) { return code >= low && code <= high; };
  return in(0, 0x1F) || in(0x7F, 0x9F) || code == 0xAD || code == 0x61C ||
         code == 0x180E ||                                                  // soft hyphen, Arabic mark
         in(0x200B, 0x200F) || in(0x2028, 0x202E) || in(0x2060, 0x206F) ||  // nothing shown, separators, direction
         code == 0xFEFF || in(0xFFF9, 0xFFFB) || in(0xE0000, 0xE0FFF);      // byte order mark, annotations, tags
}

bool OpensQuote(std::string_view text, size_t at) {
  return text[at] == '\'' && (at == 0 || std::isalnum(static_cast<unsigned char>(text[at - 1])) == 0);
}

}  // namespace

size_t AddShown(std::string_view text, size_t at, std::string* shown) {
  const Character c = Decode(text, at);
  if (c.valid && !MustEscape(c.code)) {
    *shown += text.substr(at, c.bytes);
    return at + c.bytes;
  }
  char escaped[16];
  std::snprintf(escaped, sizeof(escaped), c.valid && c.code >= 0x80 ? "\\u{%X}" : "\\x%02X",
                static_cast<unsigned>(c.code));
  *shown += escaped;
  return at + c.bytes;
}

std::string Printable(std::string_view text) {
  std::string shown;
  size_t characters = 0;
  for (size_t at = 0; at < text.size(); ++characters) {
    if (characters == kMaxShownCharacters) return shown + "...";
    at = AddShown(text, at, &shown);
  }
  return shown;
}

std::string PrintableLine(std::string_view text) {
  std::string shown;
  for (size_t at = 0; at < text.size();) {
    const size_t end = OpensQuote(text, at) ? text.find('\'', at + 1) : std::string_view::npos;
    if (end == std::string_view::npos) {
      at = AddShown(text, at, &shown);
    } else {
      shown += fmt::format("'{}'", Printable(text.substr(at + 1, end - at - 1)));
      at = end + 1;
    }
  }
  return shown;
}

std::string PrintableMessage(std::string_view text) {
  bool inside = false;  // quotes
  size_t start = 0;
  std::string shown;
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\'')
      inside = inside ? false : OpensQuote(text, at) && text.find('\'', at + 1) != std::string_view::npos;
    if (inside || text[at] != '\n' || text.substr(at + 1, 2) != "  ") continue;
    shown += PrintableLine(text.substr(start, at - start)) + "\n";
    start = at + 1;
  }
  return shown + PrintableLine(text.substr(start));
}

}  // namespace plumb
