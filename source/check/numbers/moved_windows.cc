// SPDX-License-Identifier: Apache-2.0
#include "check/numbers/moved_windows.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>

namespace plumb {

std::string NumbersOfPads(const AxesPads& pads, const AxesPads& other) {
  static const char* const kNames[] = {"batch", "channels", "height", "width"};
  std::string words, first;
  int same = 0, differing = 0;
  for (size_t i = 0; i < pads.size(); ++i) {
    if (pads[i] == other[i]) continue;
    const std::string own = fmt::format("{} before and {} after", std::abs(pads[i].begin), std::abs(pads[i].end));
    if (first.empty()) first = own;
    same += own == first ? 1 : 0;
    ++differing;
    words += fmt::format("{}{} along the {}", words.empty() ? "" : ", ", own, kNames[pads[i].axis & 3]);
  }
  return same == differing && differing > 1 ? first : words;
}

std::string WithPads(const AxesPads& own) {
  const bool cuts = std::any_of(own.begin(), own.end(), [](const EndPads& axis) { return axis.cuts(); });
  return cuts ? "with cuts of " : "with pads ";
}

AxesPads PadsOfWindow(const Window2D& window) {
  return {{2, window.h.pad_begin, window.h.pad_end}, {3, window.w.pad_begin, window.w.pad_end}};
}

Window2D WithPadsOf(const Window2D& window, const AxesPads& pads) {
  Window2D moved = window;
  moved.h.pad_begin = pads[0].begin, moved.h.pad_end = pads[0].end;
  moved.w.pad_begin = pads[1].begin, moved.w.pad_end = pads[1].end;
  return moved;
}

Window2D MovedWindow(const Window2D& window, int down, int along) {
  const AxesPads own = PadsOfWindow(window);
  return WithPadsOf(window, {own[0].Moved(down), own[1].Moved(along)});
}

bool CanMoveWindow(const Window2D& window, int down, int along) {
  const AxesPads own = PadsOfWindow(window), moved = PadsOfWindow(MovedWindow(window, down, along));
  return own[0].MayBecome(moved[0]) && own[1].MayBecome(moved[1]);
}

std::pair<std::string, std::string> WordsOfMoved(const Window2D& window, int down, int along) {
  const AxesPads own = PadsOfWindow(window), moved = PadsOfWindow(MovedWindow(window, down, along));
  return {WithPads(own) + NumbersOfPads(moved, own), NumbersOfPads(own, moved)};
}

Result<Tensor> Surrounded(const Tensor& input, const Window2D& window, double by) {
  const WindowAxis &h = window.h, &w = window.w;
  if (input.shape().rank() != 4 || std::min({h.pad_begin, h.pad_end, w.pad_begin, w.pad_end}) < 0)
    return Status::NotSupported("no image with pads");
  const int64_t height = input.shape()[2], width = input.shape()[3];
  Shape wide = input.shape();
  wide[2] += h.pad_begin + h.pad_end, wide[3] += w.pad_begin + w.pad_end;
  PLUMB_ASSIGN_OR_RETURN(Tensor padded, Tensor::Create(DType::kF64, wide));
  std::fill_n(padded.data<double>(), padded.NumElements(), by);
  for (int64_t row = 0; row < input.NumElements() / std::max<int64_t>(1, width); ++row) {
    const int64_t to = (row / height * wide[2] + row % height + h.pad_begin) * wide[3] + w.pad_begin;
    std::copy_n(input.data<double>() + row * width, width, padded.data<double>() + to);
  }
  return padded;
}

}  // namespace plumb
