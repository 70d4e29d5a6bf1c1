// SPDX-License-Identifier: Apache-2.0
#include "dump/filter.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>

#include "format/tnn/types.h"
#include "op/core/op.h"
#include "plumb/tool/printing.h"

namespace plumb {
namespace {

constexpr int64_t kNoEnd = std::numeric_limits<int64_t>::max();
// libstdc++'s regular expressions recurse once per character and would run out of stack on names of some 10^5 bytes.
constexpr size_t kMaxRegexName = 1024;

std::string_view Trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

std::optional<int64_t> ParseIndex(std::string_view text) {
  int64_t value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || text[0] == '-' || result.ec != std::errc() || result.ptr != text.data() + text.size()) return {};
  return value;
}

// "7", "5-9", "20-".
bool ParseRange(std::string_view text, int64_t* first, int64_t* last) {
  const size_t dash = text.find('-');
  const auto begin = ParseIndex(text.substr(0, dash));
  if (!begin) return false;
  *first = *begin;
  *last = *begin;
  if (dash == std::string_view::npos) return true;
  *last = kNoEnd;
  if (dash + 1 == text.size()) return true;
  const auto end = ParseIndex(text.substr(dash + 1));
  if (!end || *end < *begin) return false;
  *last = *end;
  return true;
}

// One [set] at pattern[*at]; false when c is not in it. *at moves behind the set.
bool InSet(std::string_view pattern, size_t* at, char c, bool* closed) {
  size_t i = *at + 1;
  const bool negated = i < pattern.size() && (pattern[i] == '!' || pattern[i] == '^');
  if (negated) ++i;
  bool found = false;
  for (bool first = true; i < pattern.size() && (first || pattern[i] != ']'); first = false) {
    char low = pattern[i++];
    char high = low;
    if (i + 1 < pattern.size() && pattern[i] == '-' && pattern[i + 1] != ']') {
      high = pattern[i + 1];
      i += 2;
    }
    found = found || (low <= c && c <= high);
  }
  *closed = i < pattern.size();
  *at = i + 1;
  return found != negated;
}

// Whether pattern[*at] (one element) takes c; *at moves behind the element.
bool TakesOne(std::string_view pattern, size_t* at, char c) {
  if (pattern[*at] == '?') {
    ++*at;
    return true;
  }
  if (pattern[*at] == '[') {
    size_t after = *at;
    bool closed = false;
    const bool in_set = InSet(pattern, &after, c, &closed);
    if (closed) {
      *at = after;
      return in_set;
    }
  }
  if (pattern[*at] == '\\' && *at + 1 < pattern.size()) ++*at;
  return pattern[(*at)++] == c;
}

// Splits at commas outside of /.../.
std::vector<std::string> SplitFilters(std::string_view text) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= text.size();) {
    size_t end = begin;
    while (end < text.size() && text[end] == ' ') ++end;
    if (end < text.size() && text[end] == '/') {  // up to the slash that a comma or the end follows
      size_t slash = text.find('/', end + 1);
      while (slash != std::string_view::npos && slash + 1 < text.size() && text[slash + 1] != ',') {
        slash = text.find('/', slash + 1);
      }
      end = slash == std::string_view::npos ? text.find(',', begin) : slash + 1;
    } else {
      end = text.find(',', begin);
    }
    if (end == std::string_view::npos) end = text.size();
    const std::string_view part = Trim(text.substr(begin, end - begin));
    if (!part.empty()) parts.emplace_back(part);
    begin = end + 1;
  }
  return parts;
}

// ONNX's words for what TNN calls otherwise.
constexpr std::pair<const char*, const char*> kOnnxTypes[] = {{"Gemm", "InnerProduct"},
                                                              {"ConvTranspose", "Deconvolution"},
                                                              {"MaxPool", "Pooling"},
                                                              {"AveragePool", "Pooling"},
                                                              {"GlobalAveragePool", "Pooling"},
                                                              {"GlobalMaxPool", "Pooling"},
                                                              {"Transpose", "Permute"},
                                                              {"BatchNormalization", "BatchNormCxx"},
                                                              {"InstanceNormalization", "InstBatchNormCxx"},
                                                              {"LayerNormalization", "LayerNorm"},
                                                              {"Resize", "Upsample"}};

Status UnknownType(const std::string& part) {
  std::string known, meant;
  std::vector<std::string> names;
  for (const OpDef& def : AllOps()) {
    known += std::string(known.empty() ? "" : ", ") + def.name;
    names.emplace_back(def.name);
    const std::string name = def.name;  // the shortest that begins so
    const bool begins = part.size() >= 3 && EditDistance(name.substr(0, part.size()), part) == 0;
    if (begins && (meant.empty() || name.size() < meant.size())) meant = name;
  }
  for (const auto& [onnx, ours] : kOnnxTypes) {
    if (EditDistance(part, onnx) == 0) meant = ours;
  }
  if (const std::string nearest = NearestWord(part, names); meant.empty()) meant = nearest;
  return Status::InvalidArgument(meant.empty()
                                     ? fmt::format("unknown operator type '{}'; the types are {}", part, known)
                                     : fmt::format("unknown operator type '{}'; did you mean '{}'?", part, meant));
}

}  // namespace

std::vector<std::string> SplitAtCommas(std::string_view text) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view part = Trim(text.substr(begin, end - begin));
    if (!part.empty()) parts.emplace_back(part);
    begin = end + 1;
  }
  return parts;
}

Result<IndexRanges> IndexRanges::Parse(std::string_view text, std::string_view otherwise) {
  IndexRanges ranges;
  if (Trim(text).empty()) text = otherwise;
  for (const std::string& part : SplitAtCommas(text)) {
    Range range{0, kNoEnd};
    if (part != "all" && !ParseRange(part, &range.first, &range.last)) {
      return Status::InvalidArgument(
          fmt::format("expected numbers and ranges such as 0,5-9,20- or all, found '{}'", part));
    }
    ranges.ranges_.push_back(range);
  }
  return ranges;
}

bool IndexRanges::Contains(int64_t index) const {
  for (const Range& range : ranges_) {
    if (range.first <= index && index <= range.last) return true;
  }
  return false;
}

bool IndexRanges::AnyFrom(int64_t index) const {
  return std::any_of(ranges_.begin(), ranges_.end(), [&](const Range& range) { return range.last >= index; });
}

Result<LayerFilter> LayerFilter::Parse(std::string_view text) {
  LayerFilter filter;
  const std::vector<std::string> parts = SplitFilters(text);
  filter.all_ = parts.empty();
  for (const std::string& part : parts) {
    int64_t first, last;
    if (ParseRange(part, &first, &last)) {
      PLUMB_ASSIGN_OR_RETURN(IndexRanges ranges, IndexRanges::Parse(part, ""));
      filter.ranges_.push_back(std::move(ranges));
    } else if (part[0] == '/' && part.size() > 1 && part.back() == '/') {
      try {
        filter.expressions_.emplace_back(part.substr(1, part.size() - 2),
                                         std::regex::ECMAScript | std::regex::optimize);
      } catch (const std::regex_error& error) {
        return Status::InvalidArgument(
            fmt::format("'{}' is no regular expression (ECMAScript): {}", part, error.what()));
      }
    } else {
      filter.globs_.push_back(part);
    }
  }
  return filter;
}

bool LayerFilter::Takes(int64_t index, const std::string& name) const {
  if (all_) return true;
  for (const IndexRanges& ranges : ranges_) {
    if (ranges.Contains(index)) return true;
  }
  for (const std::string& glob : globs_) {
    if (MatchesGlob(glob, name)) return true;
  }
  for (const std::regex& expression : expressions_) {
    const size_t size = std::min(name.size(), kMaxRegexName);
    try {
      if (std::regex_search(name.begin(), name.begin() + static_cast<ptrdiff_t>(size), expression)) return true;
    } catch (const std::regex_error&) {  // too complex for this name: no match
    }
  }
  return false;
}

bool MatchesGlob(std::string_view pattern, std::string_view text) {
  size_t p = 0, t = 0;
  size_t star = std::string_view::npos, resume = 0;  // the last * and where its run ends
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
      continue;
    }
    size_t after = p;
    if (p < pattern.size() && TakesOne(pattern, &after, text[t])) {
      p = after;
      ++t;
      continue;
    }
    if (star == std::string_view::npos) return false;
    p = star + 1;
    t = ++resume;
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

Result<TypeFilter> TypeFilter::Parse(std::string_view text) {
  TypeFilter filter;
  for (const std::string& part : SplitAtCommas(text)) {
    const auto type = tnn::FindLayerType(part);  // our names, and all that TNN's files use for them
    const OpDef* op = type ? type->op : nullptr;
    if (op == nullptr) {
      return UnknownType(part);
    }
    filter.types_.emplace_back(op->name);
  }
  return filter;
}

bool TypeFilter::Takes(const std::string& type) const {
  return types_.empty() || std::find(types_.begin(), types_.end(), type) != types_.end();
}

}  // namespace plumb
