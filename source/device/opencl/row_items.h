// SPDX-License-Identifier: Apache-2.0
// How many items share a row that is reduced to one value (include/row.clh).
#ifndef PLUMB_DEVICE_OPENCL_ROW_ITEMS_H_
#define PLUMB_DEVICE_OPENCL_ROW_ITEMS_H_

#include <string>

#include "device/opencl/launcher.h"
#include "device/shared/axis_view.h"

namespace plumb::opencl {

// 64 on GPUs, which one item per row would starve, where each finds an element. Where the elements of a row lie apart,
// those of neighbouring rows lie side by side: enough rows to fill a GPU are then read best by one item each.
inline int64_t RowItems(Device* device, int64_t rows, int64_t n, bool side_by_side) {
  constexpr int64_t kItems = 64, kManyRows = 16384;
  return Launcher::CpuShapes(device) || n < kItems || (!side_by_side && rows >= kManyRows) ? 1 : kItems;
}
inline int64_t RowItems(Device* device, const AxisView& view) {
  return RowItems(device, view.rows(), view.n, view.inner == 1);
}
inline std::string RowKernelName(const std::string& name, int64_t items) {
  return items == 1 ? name : name + "_shared";
}

}  // namespace plumb::opencl

#endif  // PLUMB_DEVICE_OPENCL_ROW_ITEMS_H_
