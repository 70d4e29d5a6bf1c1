// SPDX-License-Identifier: Apache-2.0
// What the environment says of a GPU device's kernels, where a device's own rule is overridden: PLUMB_<DEVICE>_SHAPES
// and PLUMB_<DEVICE>_WINOGRAD.
#ifndef PLUMB_DEVICE_SHARED_KERNEL_CHOICE_H_
#define PLUMB_DEVICE_SHARED_KERNEL_CHOICE_H_

#include <optional>
#include <string>
#include <vector>

#include "plumb/status.h"

namespace plumb {

// Whether kernels shaped for drivers on a CPU are wanted ("cpu"), or those for GPUs ("gpu"). Nothing when the variable
// is not set; InvalidArgument when it is another word.
Result<std::optional<bool>> CpuShapesFromEnvironment(const char* variable);

// The outputs along the edge of a Winograd tile, one of `tiles`, or 0 for "off". Nothing and InvalidArgument as above.
Result<std::optional<int>> WinogradTileFromEnvironment(const char* variable, const std::vector<int>& tiles);

}  // namespace plumb

#endif  // PLUMB_DEVICE_SHARED_KERNEL_CHOICE_H_
