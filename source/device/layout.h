// SPDX-License-Identifier: Apache-2.0
// Layout: how a device arranges a blob in memory. A layout is the device's own, opaque to everybody else (design
// decision 7); the runtime only compares layouts, asks for their size and names them in reports. Device::Download is
// the only way back to dense logical order.
#ifndef PLUMB_DEVICE_LAYOUT_H_
#define PLUMB_DEVICE_LAYOUT_H_

#include <memory>
#include <string>

#include "plumb/tensor.h"

namespace plumb {

class Layout {
 public:
  virtual ~Layout() = default;
  // "NCHW", "nChw16c", "NC4HW4 image": what reports and manifests print.
  virtual std::string Name() const = 0;
  // Bytes that a blob of this dtype and shape takes, padding included.
  virtual size_t Bytes(DType dtype, const Shape& shape) const = 0;
  // In what the elements of a blob of this dtype are stored: f16 for f32 blobs of NORMAL precision. The verdict needs
  // to know.
  virtual DType Storage(DType dtype) const { return dtype; }
  virtual bool Equals(const Layout& other) const { return Name() == other.Name(); }
};

using LayoutPtr = std::shared_ptr<const Layout>;

// Dense, logical order (N, C, spatial); every device can hold it.
const LayoutPtr& PlainLayout();

}  // namespace plumb

#endif  // PLUMB_DEVICE_LAYOUT_H_
