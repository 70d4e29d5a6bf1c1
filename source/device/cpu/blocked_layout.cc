// SPDX-License-Identifier: Apache-2.0
#include "device/cpu/blocked_layout.h"

#include <algorithm>

#include "device/cpu/half_layout.h"

namespace plumb::cpu {
namespace {

class Blocked : public Layout {
 public:
  std::string Name() const override { return ChannelBlock() == 16 ? "nChw16c" : "nChw8c"; }
  size_t Bytes(DType dtype, const Shape& shape) const override {
    const MapShape map = MapOf(shape);
    return static_cast<size_t>(map.batch * map.ImageElements(Format::kBlocked, ChannelBlock())) * DTypeSize(dtype);
  }
};

}  // namespace

const LayoutPtr& BlockedLayout() {
  static const LayoutPtr* layout = new LayoutPtr(std::make_shared<Blocked>());
  return *layout;
}

bool IsBlocked(const LayoutPtr& layout) { return layout != nullptr && layout->Equals(*BlockedLayout()); }
LayoutPtr LayoutOf(Format format) { return format == Format::kBlocked ? BlockedLayout() : PlainLayout(); }
Format FormatOf(const DeviceTensor& tensor) {
  return IsBlocked(OrderOf(tensor.layout)) ? Format::kBlocked : Format::kPlain;
}

MapShape MapOf(const Shape& shape) { return {shape.DimOrOne(0), shape.DimOrOne(1), shape.CountFrom(2)}; }

int64_t ImageElements(const DeviceTensor& tensor) {
  return MapOf(tensor.shape).ImageElements(FormatOf(tensor), ChannelBlock());
}

bool SameBytes(const Shape& shape) {
  const MapShape map = MapOf(shape);
  return map.pixels == 1 && (map.batch == 1 || map.channels % ChannelBlock() == 0);
}

void ZeroTailLanes(const DeviceTensor& tensor) {
  if (!IsBlocked(tensor.layout)) return;
  const MapShape map = MapOf(tensor.shape);
  const int64_t image = ImageElements(tensor);
  for (int64_t n = 0; n < map.batch; ++n) ZeroTailLanes(tensor.host<float>() + n * image, map.channels, map.pixels);
}

void ZeroTailLanes(float* image, int64_t channels, int64_t pixels) {
  const int64_t block = ChannelBlock(), tail = channels % block;
  if (tail == 0) return;
  float* last = image + channels / block * block * pixels;
  for (int64_t p = 0; p < pixels; ++p) std::fill(last + p * block + tail, last + (p + 1) * block, 0.0f);
}

}  // namespace plumb::cpu
