// SPDX-License-Identifier: Apache-2.0
// Windows that lie elsewhere: as much padding in all, but more of it before and less behind. Negative pads cut.
#ifndef PLUMB_CHECK_NUMBERS_MOVED_WINDOWS_H_
#define PLUMB_CHECK_NUMBERS_MOVED_WINDOWS_H_

#include <string>
#include <utility>
#include <vector>

#include "op/core/window.h"
#include "plumb/tensor.h"

namespace plumb {

// Of one axis; both negative: so much is cut off.
struct EndPads {
  int axis = 0;
  int64_t begin = 0, end = 0;
  EndPads Moved(int64_t by) const { return {axis, begin + by, end - by}; }
  bool pads() const { return begin >= 0 && end >= 0 && begin + end > 0; }
  bool cuts() const { return begin <= 0 && end <= 0 && begin + end < 0; }
  bool MayBecome(const EndPads& other) const {
    return *this == other || (pads() && other.pads()) || (cuts() && other.cuts());
  }
  bool operator==(const EndPads& other) const { return begin == other.begin && end == other.end; }
};

using AxesPads = std::vector<EndPads>;  // of the height, then of the width; of a Pad of all axes

// "1 before and 0 after", of each axis where they are several that differ from the others.
std::string NumbersOfPads(const AxesPads& pads, const AxesPads& other);
// "with pads ", or of cuts "with cuts of ".
std::string WithPads(const AxesPads& own);
AxesPads PadsOfWindow(const Window2D& window);
// Of the window with such pads of its height and width.
Window2D WithPadsOf(const Window2D& window, const AxesPads& pads);

// With so many pads more at the top and at the left, fewer at the other ends.
Window2D MovedWindow(const Window2D& window, int down, int along);
// Whether that leaves pads at both ends, or cuts at both.
bool CanMoveWindow(const Window2D& window, int down, int along);
// "with pads 1 before and 0 after", and what the graph says.
std::pair<std::string, std::string> WordsOfMoved(const Window2D& window, int down, int along);
// An f64 image of 4 dims with the window's pads around it.
Result<Tensor> Surrounded(const Tensor& input, const Window2D& window, double by);

}  // namespace plumb

#endif  // PLUMB_CHECK_NUMBERS_MOVED_WINDOWS_H_
