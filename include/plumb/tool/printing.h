// SPDX-License-Identifier: Apache-2.0
// Text for people: names out of files made safe for a terminal, lines and tables that fit a width, and what was meant
// by a misspelt word. Reports are made with it; a program that prints more than reports has it, too.
//
// Example:
//   PLUMB_ASSIGN_OR_RETURN(const plumb::Graph graph, plumb::LoadModel("net.tnnproto"));
//   plumb::TextTable table({{"layer", 0, false, true}, {"type", 1}});
//   for (const plumb::Layer& layer : graph.layers) table.Add({{layer.name}, {layer.type}});
//   std::fputs(table.Format(80).c_str(), stdout);
//
// Threading: free functions and values.
#ifndef PLUMB_TOOL_PRINTING_H_
#define PLUMB_TOOL_PRINTING_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace plumb {

// --- Names. What a model, manifest or tensor file calls something may hold an escape sequence, a carriage return or a
// line break, which would draw a forged line of a report. Escaped are control characters (C0, DEL, C1), bytes that are
// no UTF-8, line and paragraph separators, characters that turn the writing direction or show nothing: \x1B, \x0A,
// \u{202E}. JSON, CSV and files keep the exact text and do not come here.

constexpr size_t kMaxShownCharacters = 200;

// One name or value on one line, cut to 200 characters ("..." at the end says so).
std::string Printable(std::string_view text);

// One line that may quote such names: each 'quoted' part is cut as Printable does.
std::string PrintableLine(std::string_view text);

// The same for a whole message: line breaks that two spaces follow stay, as we write lists in them ("2 nodes cannot be
// imported:\n  ..."); others, and all inside quotes, are a name's and are escaped. So no name can start a line of its
// own.
std::string PrintableMessage(std::string_view text);

// --- Lines and tables that fit a width.

// Columns that a UTF-8 text takes, one per character.
size_t TextWidth(std::string_view text);
// The text's end behind "..." where it is wider: the end of a path or a name tells more than its beginning.
std::string CutFront(const std::string& text, size_t width);
// Broken at spaces (first at double ones) where it is wider; each line but the first begins with `indent` spaces. The
// first stands behind `used` columns. A word that is wider than the width stays whole.
std::string Wrapped(const std::string& text, size_t width, size_t indent, size_t used = 0);

struct TextColumn {
  std::string title;
  int gives_way = 0;  // 0: stays. The columns of the lowest number are left out first where the table is too wide
  bool right = false;
  bool may_cut = false;  // its cells are cut where leaving out columns is not enough
};

struct TextCell {
  std::string text;
  const char* color = "";  // an escape sequence, or ""
};

class TextTable {
 public:
  explicit TextTable(std::vector<TextColumn> columns) : columns_(std::move(columns)) {}
  // As many cells as columns. What is not printable in them is escaped. `below` follows the row as it is.
  void Add(std::vector<TextCell> cells, std::string below = "");
  // With a line of titles; no line is wider than `width` unless the columns that stay are.
  std::string Format(size_t width) const;

 private:
  struct Row {
    std::vector<TextCell> cells;
    std::string below;
  };
  // Of each column; 0 where it is left out.
  std::vector<size_t> Widths(size_t width) const;
  std::string Line(const std::vector<TextCell>& cells, const std::vector<size_t>& widths) const;

  std::vector<TextColumn> columns_;
  std::vector<Row> rows_;
};

// --- Words that somebody typed and nobody knows: option names and values, devices, variables.

// Insertions, deletions, replacements and swaps of neighbours that make `a` to `b`; upper and lower case are the same.
int EditDistance(std::string_view a, std::string_view b);

// The word that `text` most likely stands for: within a third of its length, or the only one that begins with it (three
// letters at least). Empty when there is none.
std::string NearestWord(std::string_view text, const std::vector<std::string>& words);

// For the end of a message: "; did you mean 'X86'?", or nothing.
std::string DidYouMean(std::string_view text, const std::vector<std::string>& words);

// "rule: expected default, allclose, tnn or cosine, found 'cosin'; did you mean 'cosine'?"
std::string UnknownWord(std::string_view what, std::string_view text, const std::vector<std::string>& words);

}  // namespace plumb

#endif  // PLUMB_TOOL_PRINTING_H_
