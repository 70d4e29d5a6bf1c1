// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include "plumb/tool/printing.h"

namespace plumb {
namespace {

constexpr size_t kGap = 2, kMinCut = 12;

bool IsContinuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

size_t Total(const std::vector<size_t>& widths) {
  size_t total = 0;
  for (size_t w : widths) total += w == 0 ? 0 : w + kGap;
  return total == 0 ? 0 : total - kGap;
}

// Where to break a text that is too wide: the byte of a space, or npos.
size_t BreakAt(const std::string& text, size_t room) {
  const std::string head = text.substr(0, room + 1);
  const size_t wide = head.rfind("  ");
  if (wide != std::string::npos && wide > room / 2) return wide;
  const size_t space = head.rfind(' ');
  if (space != std::string::npos && space > 0) return space;
  return text.find(' ');
}

}  // namespace

size_t TextWidth(std::string_view text) {
  return text.size() - static_cast<size_t>(std::count_if(text.begin(), text.end(), IsContinuation));
}

std::string CutFront(const std::string& text, size_t width) {
  if (TextWidth(text) <= width || width < 4) return text;
  size_t begin = 0;
  for (size_t left = TextWidth(text); left > width - 3 || IsContinuation(text[begin]); ++begin) {
    if (!IsContinuation(text[begin])) --left;
  }
  return "..." + text.substr(begin);
}

std::string Wrapped(const std::string& text, size_t width, size_t indent, size_t used) {
  std::string lines, rest = text;
  size_t room = width > used ? width - used : 0;
  while (TextWidth(rest) > room) {
    const size_t at = BreakAt(rest, room);
    if (at == std::string::npos) break;
    lines += fmt::format("{}\n{}", rest.substr(0, at), std::string(indent, ' '));
    const size_t next = rest.find_first_not_of(' ', at);
    rest = next == std::string::npos ? "" : rest.substr(next);
    room = width > indent ? width - indent : 0;
  }
  return lines + rest;
}

void TextTable::Add(std::vector<TextCell> cells, std::string below) {
  for (TextCell& cell : cells) cell.text = Printable(cell.text);
  rows_.push_back({std::move(cells), std::move(below)});
}

std::vector<size_t> TextTable::Widths(size_t width) const {
  std::vector<size_t> widths;
  for (size_t c = 0; c < columns_.size(); ++c) {
    widths.push_back(TextWidth(columns_[c].title));
    for (const Row& row : rows_) widths[c] = std::max(widths[c], TextWidth(row.cells[c].text));
  }
  while (Total(widths) > width) {
    int first = 0;
    for (size_t c = 0; c < columns_.size(); ++c) {
      const int order = columns_[c].gives_way;
      if (widths[c] > 0 && order > 0 && (first == 0 || order < first)) first = order;
    }
    if (first == 0) break;
    for (size_t c = 0; c < columns_.size(); ++c) {
      if (columns_[c].gives_way == first) widths[c] = 0;
    }
  }
  for (size_t c = 0; c < columns_.size() && Total(widths) > width; ++c) {
    if (!columns_[c].may_cut || widths[c] <= kMinCut) continue;
    const size_t over = Total(widths) - width;
    widths[c] = widths[c] > over + kMinCut ? widths[c] - over : kMinCut;
  }
  return widths;
}

std::string TextTable::Line(const std::vector<TextCell>& cells, const std::vector<size_t>& widths) const {
  std::string line, gap;
  for (size_t c = 0; c < cells.size(); ++c) {
    if (widths[c] == 0) continue;
    const std::string text = CutFront(cells[c].text, widths[c]);
    const bool colored = cells[c].color[0] != '\0';
    const std::string padding(widths[c] - std::min(widths[c], TextWidth(text)), ' ');
    line += gap + (columns_[c].right ? padding : "");
    line += colored ? fmt::format("{}{}\033[0m", cells[c].color, text) : text;
    gap = (columns_[c].right ? "" : padding) + std::string(kGap, ' ');
  }
  return line + "\n";
}

std::string TextTable::Format(size_t width) const {
  const std::vector<size_t> widths = Widths(width);
  std::vector<TextCell> titles;
  for (const TextColumn& column : columns_) titles.push_back({column.title, ""});
  std::string text = Line(titles, widths);
  for (const Row& row : rows_) text += Line(row.cells, widths) + row.below;
  return text;
}

}  // namespace plumb
