// SPDX-License-Identifier: Apache-2.0
// Windows that a GPU computes in strips: some outputs of a row per invocation, whose inputs fit in registers
// (depthwise_strip.comp, pooling_strip.comp).
#ifndef PLUMB_DEVICE_VULKAN_STRIP_H_
#define PLUMB_DEVICE_VULKAN_STRIP_H_

#include <string>

#include "device/vulkan/shape_choice.h"
#include "op/core/window.h"

namespace plumb::vulkan {

constexpr int64_t kStrip = 4;       // the shaders' constant of that name
constexpr int64_t kStripSpan = 16;  // vec4 of a row's inputs; more would spill

inline int64_t Strips(int64_t width) { return (width + kStrip - 1) / kStrip; }

// OK when kernels for GPUs are wanted and windows along the width are small enough.
inline Status RequireStrip(const KernelSpec& spec, const WindowAxis& w) {
  PLUMB_RETURN_IF_ERROR(RequireShape(spec, KernelShape::kGpu));
  if (w.out < 2) return Status::NotSupported("needs more than one output along the width");
  const int64_t span = (kStrip - 1) * w.stride + w.extent();
  if (span <= kStripSpan) return Status::Ok();
  return Status::NotSupported("needs a strip of 4 outputs to read at most 16 inputs of a row, not " +
                              std::to_string(span));
}

}  // namespace plumb::vulkan

#endif  // PLUMB_DEVICE_VULKAN_STRIP_H_
