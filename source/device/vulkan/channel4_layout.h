// SPDX-License-Identifier: Apache-2.0
// NC4HW4: f32 feature maps of rank 3 and more as [N][ceil(C/4)][pixels][4], so that one texel holds four channels of
// one pixel. Lanes behind the last channel are zero in every blob, because convolutions multiply them. "NC4HW4 f16"
// stores f16 instead (NORMAL precision); what has no kernel for it stays plain f32.
#ifndef PLUMB_DEVICE_VULKAN_CHANNEL4_LAYOUT_H_
#define PLUMB_DEVICE_VULKAN_CHANNEL4_LAYOUT_H_

#include "device/kernel.h"
#include "device/vulkan/launch.h"

namespace plumb::vulkan {

const LayoutPtr& Channel4Layout(bool half);
// The one of a network's precision.
inline const LayoutPtr& Channel4Layout(const KernelSpec& spec) {
  return Channel4Layout(spec.precision != Precision::kHigh);
}
inline bool IsHalf(const LayoutPtr& layout) { return layout == Channel4Layout(true); }
inline bool IsChannel4(const LayoutPtr& layout) { return IsHalf(layout) || layout == Channel4Layout(false); }
// Bytes of one stored element.
inline size_t ElementBytes(const DeviceTensor& tensor) { return IsHalf(tensor.layout) ? 2 : DTypeSize(tensor.dtype); }
// The end of the name of a shader that exists for both.
inline const char* HalfSuffix(const LayoutPtr& layout) { return IsHalf(layout) ? "_half" : ""; }
// Four channels of a pixel as a texel.
inline Argument::View TexelsOf(const LayoutPtr& layout) {
  return IsHalf(layout) ? Argument::kTexelsF16x4 : Argument::kTexelsF32x4;
}

// A blob as feature maps: dim 0, dim 1 and the rest.
struct MapShape {
  int64_t batch = 1, channels = 1, pixels = 1;
  int64_t quads() const { return (channels + 3) / 4; }
};
MapShape MapOf(const Shape& shape);

// One pixel per channel and whole quads: the same bytes in plain order, so such a blob is taken as it comes, if it is
// f32.
bool SameBytes(const Shape& shape, const LayoutPtr& arriving);

void PackChannel4(const Shape& shape, const float* src, float* dst);
void UnpackChannel4(const Shape& shape, const float* src, float* dst);
// Between plain and NC4HW4, on the device.
Result<LaunchSpec> ReorderSpec(const DeviceTensor& src, const DeviceTensor& dst);

}  // namespace plumb::vulkan

#endif  // PLUMB_DEVICE_VULKAN_CHANNEL4_LAYOUT_H_
