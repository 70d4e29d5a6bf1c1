// SPDX-License-Identifier: Apache-2.0
// Windows that lie elsewhere: as much padding in all, but more of it before and less behind. Negative pads cut.
#ifndef PLUMB_CHECK_CAUSE_MOVED_WINDOWS_H_
#define PLUMB_CHECK_CAUSE_MOVED_WINDOWS_H_

#include <string>
#include <utility>

#include "op/core/window.h"
#include "plumb/tensor.h"

namespace plumb {

// With so many pads more at the top and at the left, fewer at the other ends.
Window2D MovedWindow(const Window2D& window, int down, int along);
// Whether that leaves pads at both ends, or cuts at both.
bool CanMoveWindow(const Window2D& window, int down, int along);
// "with pads 1 before and 0 after", and what the graph says.
std::pair<std::string, std::string> WordsOfMoved(const Window2D& window, int down, int along);
// An f64 image of 4 dims with the window's pads around it.
Result<Tensor> Surrounded(const Tensor& input, const Window2D& window, double by);

}  // namespace plumb

#endif  // PLUMB_CHECK_CAUSE_MOVED_WINDOWS_H_
