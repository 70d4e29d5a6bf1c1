// SPDX-License-Identifier: Apache-2.0
// Names that tnnproto cannot hold: a space, comma, quote, control byte (and `:` in a network input) is written %XX, and
// % as %25. Only files whose third header field is kEscapedHeader are decoded; a file without such a name keeps TNN's
// `1` there, so that it is TNN's format to the byte. TNN ignores the field and reads the escaped names, which fit the
// tnnmodel's.
#ifndef PLUMB_FORMAT_TNN_NAMES_H_
#define PLUMB_FORMAT_TNN_NAMES_H_

#include <set>
#include <string>
#include <string_view>

#include "plumb/graph.h"
#include "plumb/status.h"

namespace plumb::tnn {

constexpr std::string_view kEscapedHeader = "plumb-names-1";

// The name behind %XX; CorruptModel when a % is not followed by two hexadecimal digits.
Result<std::string> UnescapeName(std::string_view text);

// How one graph's names are written: plainly when all of them can be, else all escaped.
class NameWriter {
 public:
  explicit NameWriter(const Graph& graph);
  bool escapes() const { return escapes_; }
  std::string Blob(const std::string& name) const { return Write(name, inputs_.count(name) > 0); }
  std::string Other(const std::string& name) const { return Write(name, false); }  // a layer's name, a text parameter

 private:
  std::string Write(const std::string& name, bool escape_colon) const;

  std::set<std::string> inputs_;
  bool escapes_ = false;
};

}  // namespace plumb::tnn

#endif  // PLUMB_FORMAT_TNN_NAMES_H_
