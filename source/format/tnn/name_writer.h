// SPDX-License-Identifier: Apache-2.0
// NameWriter: names as tnnproto holds them (names.h).
#ifndef PLUMB_FORMAT_TNN_NAME_WRITER_H_
#define PLUMB_FORMAT_TNN_NAME_WRITER_H_

#include <set>
#include <string>

#include "plumb/graph.h"

namespace plumb::tnn {

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

#endif  // PLUMB_FORMAT_TNN_NAME_WRITER_H_
