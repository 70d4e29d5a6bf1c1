// SPDX-License-Identifier: Apache-2.0
// Which elements PlumbResize weighs, along one axis.
#ifndef PLUMB_DEVICE_SHARED_RESIZE_TABLE_H_
#define PLUMB_DEVICE_SHARED_RESIZE_TABLE_H_

#include <cstdint>
#include <vector>

#include "op/resize.h"

namespace plumb {

// Taps of output o: entries [first[o], first[o + 1]) of index and weight; one of weight 1 for mode nearest. outside: it
// is extrapolated instead.
struct ResizeTable {
  std::vector<int64_t> first = {0};
  std::vector<int64_t> index;
  std::vector<float> weight;
  std::vector<bool> outside;
};

ResizeTable MakeResizeTable(const ResizeShape& s, const ResizeAxis& a);

}  // namespace plumb

#endif  // PLUMB_DEVICE_SHARED_RESIZE_TABLE_H_
