// SPDX-License-Identifier: Apache-2.0
#include "common/print.h"

namespace plumb {

std::string ShownValue(std::string_view text) {
  std::string shown;
  for (const char c : text) {
    if (c == '\n' || c == '\033') {
      shown += c == '\n' ? "\\x0A" : "\\x1B";
    } else {
      shown += c;  // the rest is escaped where it is written
    }
  }
  return shown;
}

}  // namespace plumb
