// SPDX-License-Identifier: Apache-2.0
// The shaders of shader_list.def, compiled to SPIR-V when Plumb is built: "<name>.spv".
#ifndef PLUMB_DEVICE_VULKAN_SHADERS_H_
#define PLUMB_DEVICE_VULKAN_SHADERS_H_

#include "base/embed.h"

namespace plumb::vulkan {

extern const EmbeddedFile kEmbedded[];
extern const size_t kNumEmbedded;

}  // namespace plumb::vulkan

#endif  // PLUMB_DEVICE_VULKAN_SHADERS_H_
