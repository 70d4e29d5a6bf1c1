// SPDX-License-Identifier: Apache-2.0
// Which layers and which Forwards a dump takes: the text of DUMP_BLOB_LAYERS, DUMP_BLOB_TYPES and DUMP_BLOB_FORWARDS.
#ifndef PLUMB_DUMP_FILTER_H_
#define PLUMB_DUMP_FILTER_H_

#include <cstdint>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

#include "plumb/status.h"

namespace plumb {

// "0,5-9,20-" or "all"; the empty text is `otherwise`.
class IndexRanges {
 public:
  static Result<IndexRanges> Parse(std::string_view text, std::string_view otherwise);
  bool Contains(int64_t index) const;
  // Whether it contains `index` or a later one.
  bool AnyFrom(int64_t index) const;

 private:
  struct Range {
    int64_t first;
    int64_t last;
  };
  std::vector<Range> ranges_;
};

// Commas separate: index ranges ("7", "10-20", "30-"), regular expressions between slashes ("/^conv[0-9]+$/", found
// anywhere in the name), and globs for the whole name ("conv*", "block?/relu", "[ab]*"). A number is an index; a layer
// that is named like a number is taken by a glob such as "[1]2". The empty text takes every layer.
class LayerFilter {
 public:
  static Result<LayerFilter> Parse(std::string_view text);
  bool Takes(int64_t index, const std::string& name) const;

 private:
  std::vector<std::string> globs_;
  std::vector<std::regex> expressions_;
  std::vector<IndexRanges> ranges_;
  bool all_ = false;
};

// Whole-text match: * any run, ? any byte, [abc] [a-z] [!abc] one byte of a set, \ the next byte itself.
bool MatchesGlob(std::string_view pattern, std::string_view text);

// Operator types separated by commas, aliases of TNN's files included. The empty text takes every type.
class TypeFilter {
 public:
  static Result<TypeFilter> Parse(std::string_view text);
  bool Takes(const std::string& type) const;

 private:
  std::vector<std::string> types_;  // canonical
};

// The pieces between commas, without white space around them.
std::vector<std::string> SplitAtCommas(std::string_view text);

}  // namespace plumb

#endif  // PLUMB_DUMP_FILTER_H_
