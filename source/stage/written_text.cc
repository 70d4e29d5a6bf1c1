// SPDX-License-Identifier: Apache-2.0
// Greedy (best path) decoding of CTC: A. Graves et al., "Connectionist Temporal Classification", ICML 2006, section
// 3.1: the likeliest class of each step, repeats made one, then blanks removed.
#include "stage/written_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "plumb/tool/printing.h"

namespace plumb {
namespace {

constexpr int64_t kLongestText = 4096;
constexpr size_t kShownText = 60;

struct Decoding {
  int64_t blank = 0;
  bool repeats_stay = false, blanks_stay = false, blanks_first = false;
  int64_t offset = 0;                // of what is written to the number of a class
  std::vector<std::string> charset;  // by number of a class, without the blank; empty: numbers are written

  std::string words() const {
    std::string text = fmt::format("CTC's greedy decoding, blank {}", blank);
    if (repeats_stay) text += ", repeats not made one";
    if (blanks_stay) text += ", blanks not removed";
    if (blanks_first) text += ", blanks removed before repeats are made one";
    if (offset != 0) text += fmt::format(", each number {} less", -offset);
    return text;
  }
  std::string code() const {
    if (repeats_stay || blanks_stay || blanks_first || offset != 0 || !charset.empty()) return "";
    return fmt::format("ids = [k for k, _ in itertools.groupby(scores.argmax(-1)) if k != {}]", blank);
  }
};

std::vector<int64_t> PathOf(const Picture& scores, const Decoding& how) {
  std::vector<int64_t> path;
  int64_t last = -1;
  for (int64_t step = 0; step < scores.height; ++step) {
    const float* row = scores.Row(step);
    const auto best = static_cast<int64_t>(std::max_element(row, row + scores.width) - row);
    if (how.blanks_first && best == how.blank) continue;
    const bool again = best == last && !how.repeats_stay;
    last = best;
    if (!again && (best != how.blank || how.blanks_stay)) path.push_back(best);
  }
  return path;
}

// Nothing: a class has no character.
std::optional<Picture> Written(const std::vector<int64_t>& path, const Decoding& how, bool bytes) {
  std::vector<float> values;
  for (const int64_t id : path) {
    if (how.charset.empty()) {
      values.push_back(static_cast<float>(id + how.offset));
      continue;
    }
    const int64_t place = id > how.blank ? id - 1 : id;
    if (id == how.blank || place >= static_cast<int64_t>(how.charset.size())) return std::nullopt;
    for (const char byte : how.charset[static_cast<size_t>(place)])
      values.push_back(static_cast<float>(static_cast<unsigned char>(byte)));
  }
  Picture text{1, static_cast<int64_t>(values.size()), 1, bytes, std::move(values)};
  return text;
}

Convention DecodingRow(const Decoding& how) {
  return {how.words(), how.words(), how.code(),
          [how](const Picture& before, const PictureTarget& target) -> std::optional<Picture> {
            if (before.channels != 1 || before.width < 2) return std::nullopt;
            return Written(PathOf(before, how), how, target.bytes);
          }};
}

// Characters of UTF-8; a byte that is none stands for itself.
std::vector<std::string> Characters(const std::string& text) {
  std::vector<std::string> all;
  for (const char c : text) {
    const bool continues = (static_cast<unsigned char>(c) & 0xC0) == 0x80;
    if (continues && !all.empty()) {
      all.back() += c;
    } else {
      all.emplace_back(1, c);
    }
  }
  return all;
}

// One row of whole numbers, or of the characters of bytes.
std::optional<std::vector<std::string>> RowOf(const Tensor& tensor) {
  if (IsFloat(tensor.dtype()) || tensor.NumElements() > kLongestText) return std::nullopt;
  int wide = 0;
  for (int axis = 0; axis < tensor.shape().rank(); ++axis) wide += tensor.shape()[axis] != 1 ? 1 : 0;
  if (wide > 1 || tensor.shape().rank() == 0) return std::nullopt;
  std::vector<std::string> row;
  std::string bytes;
  for (int64_t i = 0; i < tensor.NumElements(); ++i) {
    const auto value = static_cast<int64_t>(tensor.ValueAt(i));
    if (tensor.dtype() == DType::kU8) {
      bytes += static_cast<char>(value);
    } else {
      row.push_back(std::to_string(value));
    }
  }
  return tensor.dtype() == DType::kU8 ? Characters(bytes) : row;
}

int64_t EditDistance(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  std::vector<int64_t> above(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) above[j] = static_cast<int64_t>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = static_cast<int64_t>(i);
    for (size_t j = 1; j <= b.size(); ++j)
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
    above.swap(row);
  }
  return above[b.size()];
}

std::string Shown(const std::vector<std::string>& row, bool characters) {
  std::string text;
  for (size_t i = 0; i < row.size() && text.size() < kShownText; ++i)
    text += (i > 0 && !characters ? " " : "") + row[i];
  return (characters ? "'" : "") + Printable(text) + (text.size() >= kShownText ? "..." : "") + (characters ? "'" : "");
}

}  // namespace

std::vector<Convention> FindText(const Picture& before, const Picture& after, const StageInfo& info) {
  if (before.channels != 1 || before.width < 2 || before.count() > int64_t{1} << 24 || after.height != 1) return {};
  std::vector<int64_t> blanks;
  const StageValue* said = info.Find("blank");
  const bool sayable = said != nullptr && said->numbers.size() == 1 && std::fabs(said->numbers[0]) < 1e9;
  if (sayable) blanks.push_back(static_cast<int64_t>(said->numbers[0]));
  for (const int64_t usual : {int64_t{0}, before.width - 1}) {
    if (blanks.empty() || blanks[0] != usual) blanks.push_back(usual);
  }
  const StageValue* charset = info.Find("charset");
  std::vector<Convention> found;
  for (int mistake = 0; mistake < 4; ++mistake) {
    for (const int64_t blank : blanks) {
      Decoding how;
      how.blank = blank;
      how.repeats_stay = mistake == 1, how.blanks_first = mistake == 2, how.blanks_stay = mistake == 3;
      for (how.offset = 0; how.offset >= -1; --how.offset) found.push_back(DecodingRow(how));
      if (charset == nullptr) continue;
      how.offset = 0;
      how.charset = Characters(charset->text);
      found.push_back(DecodingRow(how));
    }
  }
  return found;
}

std::optional<TextDifference> CompareTexts(const Tensor& original, const Tensor& port) {
  if ((original.dtype() == DType::kU8) != (port.dtype() == DType::kU8)) return std::nullopt;
  const auto a = RowOf(original), b = RowOf(port);
  if (!a.has_value() || !b.has_value()) return std::nullopt;
  TextDifference difference;
  difference.distance = EditDistance(*a, *b);
  difference.length = static_cast<int64_t>(a->size());
  difference.original = Shown(*a, original.dtype() == DType::kU8);
  difference.port = Shown(*b, port.dtype() == DType::kU8);
  return difference;
}

std::string TextDifference::text() const {
  return fmt::format("edit distance {} of {}: {} and {}", distance, length, original, port);
}

}  // namespace plumb
