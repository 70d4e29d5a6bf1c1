// NC4HW4: f32 feature maps of rank 3 and more as [N][ceil(C/4)][pixels][4], so that one texel holds four channels of one pixel. Lanes
// behind the last channel are zero in every blob, because convolutions multiply them.
#ifndef PLUMB_DEVICE_VULKAN_CHANNEL4_LAYOUT_H_
#define PLUMB_DEVICE_VULKAN_CHANNEL4_LAYOUT_H_

#include "device/kernel.h"
#include "device/vulkan/launch.h"

namespace plumb::vulkan {

const LayoutPtr& Channel4Layout();
inline bool IsChannel4(const LayoutPtr& layout) { return layout == Channel4Layout(); }

// A blob as feature maps: dim 0, dim 1 and the rest.
struct MapShape {
  int64_t batch = 1, channels = 1, pixels = 1;
  int64_t quads() const { return (channels + 3) / 4; }
};
MapShape MapOf(const Shape& shape);

// One pixel per channel and whole quads: the same bytes in plain order, so such a blob is taken as it comes.
bool SameBytes(const Shape& shape);

void PackChannel4(const Shape& shape, const float* src, float* dst);
void UnpackChannel4(const Shape& shape, const float* src, float* dst);
// Between plain and NC4HW4, on the device.
Result<LaunchSpec> ReorderSpec(const DeviceTensor& src, const DeviceTensor& dst);

}  // namespace plumb::vulkan

#endif  // PLUMB_DEVICE_VULKAN_CHANNEL4_LAYOUT_H_
