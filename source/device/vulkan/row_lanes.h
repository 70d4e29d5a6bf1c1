// How many invocations share a row of elements that are reduced to one value (include/row.glslh). Drivers on a CPU give
// a row to one invocation. A GPU would starve: there up to 256 share it, and short rows share a workgroup.
#ifndef PLUMB_DEVICE_VULKAN_ROW_LANES_H_
#define PLUMB_DEVICE_VULKAN_ROW_LANES_H_

#include "device/vulkan/kernel_list.h"

namespace plumb::vulkan {

// `launch` over `rows` rows of n elements each, for a shader that includes row.glslh; call before other constants are
// added. `side_by_side`: a row's elements are neighbours in memory.
void OverRows(Builder* b, int64_t rows, int64_t n, bool side_by_side, LaunchSpec* launch);

}  // namespace plumb::vulkan

#endif  // PLUMB_DEVICE_VULKAN_ROW_LANES_H_
