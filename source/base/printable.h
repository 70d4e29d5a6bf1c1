// Text out of files made safe for a terminal: the only way in which a name from a model, manifest or tensor file
// reaches a person. An escape sequence, carriage return or line break in a name could otherwise draw a forged line of a
// report.
//
// Escaped are control characters (C0, DEL, C1), bytes that are no UTF-8, line and paragraph separators, characters that
// turn the writing direction or show nothing: \x1B, \x0A, \u{202E}. JSON, CSV and files keep the exact text and do not
// come here.
#ifndef PLUMB_BASE_PRINTABLE_H_
#define PLUMB_BASE_PRINTABLE_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace plumb {

constexpr size_t kMaxShownCharacters = 200;

// One name or value on one line, cut to 200 characters ("..." at the end says so).
std::string Printable(std::string_view text);

// One line that may quote such names: each 'quoted' part is cut as Printable does.
std::string PrintableLine(std::string_view text);

// The same for a whole message: line breaks that two spaces follow stay, as we write lists in them ("2 nodes cannot be
// imported:\n  ..."); others, and all inside quotes, are a name's and are escaped. So no name can start a line of its
// own.
std::string PrintableMessage(std::string_view text);

}  // namespace plumb

#endif  // PLUMB_BASE_PRINTABLE_H_
