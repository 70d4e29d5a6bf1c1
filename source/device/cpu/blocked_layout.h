// SPDX-License-Identifier: Apache-2.0
// nChw16c / nChw8c: channels in blocks of ChannelBlock(), the last block zero padded. Only f32 blobs of rank >= 2 lie
// so.
#ifndef PLUMB_DEVICE_CPU_BLOCKED_LAYOUT_H_
#define PLUMB_DEVICE_CPU_BLOCKED_LAYOUT_H_

#include "device/cpu/reorder.h"
#include "device/kernel.h"

namespace plumb::cpu {

const LayoutPtr& BlockedLayout();
bool IsBlocked(const LayoutPtr& layout);
LayoutPtr LayoutOf(Format format);
Format FormatOf(const DeviceTensor& tensor);

// N, C and the product of the rest. REQUIRES: rank >= 2.
MapShape MapOf(const Shape& shape);
// Elements of one image of `tensor` in memory.
int64_t ImageElements(const DeviceTensor& tensor);
// True when both layouts hold the blob in the very same bytes (one pixel, no padding in between).
bool SameBytes(const Shape& shape);

// Clears the lanes behind the last channel: for kernels that compute f(0) != 0 there.
void ZeroTailLanes(const DeviceTensor& tensor);
// The same for one image: a NaN among the inputs of a sum, or a Clip that excludes 0, has filled them.
void ZeroTailLanes(float* image, int64_t channels, int64_t pixels);

}  // namespace plumb::cpu

#endif  // PLUMB_DEVICE_CPU_BLOCKED_LAYOUT_H_
