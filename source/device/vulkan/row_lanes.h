// SPDX-License-Identifier: Apache-2.0
// How many invocations share a row of elements that are reduced to one value (include/row.glslh). Drivers on a CPU give
// a row to one invocation. A GPU would starve: there up to 256 share it, and short rows share a workgroup.
#ifndef PLUMB_DEVICE_VULKAN_ROW_LANES_H_
#define PLUMB_DEVICE_VULKAN_ROW_LANES_H_

#include <string>
#include <vector>

#include "device/vulkan/kernel_list.h"

namespace plumb::vulkan {

// `launch` over `rows` rows of n elements each, for a shader that includes row.glslh; call before other constants are
// added. `side_by_side`: a row's elements are neighbours in memory. `rounds`: of loops that an element costs, over all
// passes (loop_rounds.h): where one invocation would pass the driver's limit, more share the row.
void OverRows(Builder* b, int64_t rows, int64_t n, bool side_by_side, int64_t rounds, LaunchSpec* launch);
// A launch of `shader` over the outer * inner rows around the axes [begin, end) of input 0, with rows, n and inner
// pushed and, behind OverRows', these constants.
LaunchSpec RowLaunch(Builder* b, const std::string& shader, int begin, int end, int64_t rounds,
                     const std::vector<uint32_t>& constants);
// NotSupported when the most invocations that can share a row of n elements would still pass the limit.
Status RequireRow(const KernelSpec& spec, int64_t n, int64_t rounds);

}  // namespace plumb::vulkan

#endif  // PLUMB_DEVICE_VULKAN_ROW_LANES_H_
