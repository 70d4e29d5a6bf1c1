// SPDX-License-Identifier: Apache-2.0
// Forms: how a blob lies in an OpenCL buffer. Plain order or channels in blocks of 8 (N, C/8, spatial, 8; the lanes
// behind the last channel are zero in every blob); f32 blobs as f32 or as f16. A form is the device's Layout.
#ifndef PLUMB_DEVICE_OPENCL_BLOCKED_LAYOUT_H_
#define PLUMB_DEVICE_OPENCL_BLOCKED_LAYOUT_H_

#include "device/kernel.h"

namespace plumb::opencl {

constexpr int64_t kBlock = 8;

struct Form {
  bool blocked = false;
  bool half = false;
  bool operator==(const Form& other) const { return blocked == other.blocked && half == other.half; }
};

// "NCHW", "NCHW f16", "NC8HW8", "NC8HW8 f16".
LayoutPtr LayoutOf(Form form);
Form FormOf(const LayoutPtr& layout);
inline bool IsBlocked(const LayoutPtr& layout) { return FormOf(layout).blocked; }

// The form of a blob of that dtype where f32 is stored as the network's precision says; only f32 blobs of rank >= 2 may
// be blocked.
LayoutPtr StoredLayout(const KernelSpec& spec, DType dtype, bool blocked = false);

// A blob as planes of pixels with `block` (1 or 8) channels side by side: element (n, c, p) is number
// ((n * blocks + c / block) * pixels + p) * block + c % block.
struct Planes {
  int64_t batch = 1, channels = 1, pixels = 1, block = 1;
  int64_t blocks() const { return (channels + block - 1) / block; }
  int64_t planes() const { return batch * blocks(); }
  int64_t elements() const { return planes() * pixels * block; }
};
Planes PlanesOf(const Shape& shape, bool blocked);
inline Planes PlanesOf(const DeviceTensor& tensor) { return PlanesOf(tensor.shape, IsBlocked(tensor.layout)); }

// Bytes of one stored element.
size_t ElementBytes(const DeviceTensor& tensor);

}  // namespace plumb::opencl

#endif  // PLUMB_DEVICE_OPENCL_BLOCKED_LAYOUT_H_
