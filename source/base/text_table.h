// Text that fits a width: tables whose columns give way, and wrapped sentences.
#ifndef PLUMB_BASE_TEXT_TABLE_H_
#define PLUMB_BASE_TEXT_TABLE_H_

#include <string>
#include <string_view>
#include <vector>

namespace plumb {

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

}  // namespace plumb

#endif  // PLUMB_BASE_TEXT_TABLE_H_
