// SPDX-License-Identifier: Apache-2.0
// One character of a text as a terminal may show it: itself, or escaped.
#ifndef PLUMB_BASE_CHARACTER_H_
#define PLUMB_BASE_CHARACTER_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace plumb {

// Adds the character that begins at text[at] to `shown`, escaped where printing.h says so, and returns where the next
// one begins.
size_t AddShown(std::string_view text, size_t at, std::string* shown);

}  // namespace plumb

#endif  // PLUMB_BASE_CHARACTER_H_
