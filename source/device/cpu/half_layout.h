// SPDX-License-Identifier: Apache-2.0
// f32 blobs stored as f16, in the order of another layout of the CPU devices: "NCHW f16", "nChw8c f16".
#ifndef PLUMB_DEVICE_CPU_HALF_LAYOUT_H_
#define PLUMB_DEVICE_CPU_HALF_LAYOUT_H_

#include "device/kernel.h"

namespace plumb::cpu {

LayoutPtr HalfOf(const LayoutPtr& layout);
bool IsHalf(const LayoutPtr& layout);
// The order that the blob lies in: the layout itself where it stores f32.
const LayoutPtr& OrderOf(const LayoutPtr& layout);

// Converts between blobs in the same order, on all threads.
void Widen(const DeviceTensor& half, const DeviceTensor& wide);
void Narrow(const DeviceTensor& wide, const DeviceTensor& half);

}  // namespace plumb::cpu

#endif  // PLUMB_DEVICE_CPU_HALF_LAYOUT_H_
