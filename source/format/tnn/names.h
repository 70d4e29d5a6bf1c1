// SPDX-License-Identifier: Apache-2.0
// Names that tnnproto cannot hold: a space, comma, quote, control byte (and `:` in a network input) is written %XX, and
// % as %25. Only files whose third header field is kEscapedHeader are decoded; a file without such a name keeps TNN's
// `1` there, so that it is TNN's format to the byte. TNN ignores the field and reads the escaped names, which fit the
// tnnmodel's.
#ifndef PLUMB_FORMAT_TNN_NAMES_H_
#define PLUMB_FORMAT_TNN_NAMES_H_

#include <string>
#include <string_view>

#include "plumb/status.h"

namespace plumb::tnn {

constexpr std::string_view kEscapedHeader = "plumb-names-1";

// The name behind %XX; CorruptModel when a % is not followed by two hexadecimal digits.
Result<std::string> UnescapeName(std::string_view text);

}  // namespace plumb::tnn

#endif  // PLUMB_FORMAT_TNN_NAMES_H_
