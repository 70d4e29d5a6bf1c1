// SPDX-License-Identifier: Apache-2.0
#include "device/vulkan/channel4_layout.h"

namespace plumb::vulkan {
namespace {

class NC4HW4 : public Layout {
 public:
  explicit NC4HW4(bool half) : half_(half) {}
  std::string Name() const override { return half_ ? "NC4HW4 f16" : "NC4HW4"; }
  size_t Bytes(DType dtype, const Shape& shape) const override {
    const MapShape map = MapOf(shape);
    return static_cast<size_t>(map.batch * map.quads() * 4 * map.pixels) * (half_ ? 2 : DTypeSize(dtype));
  }
  DType Storage(DType dtype) const override { return half_ ? DType::kF16 : dtype; }

 private:
  bool half_;
};

// f(index in plain order, index in NC4HW4) for every element; plain index -1 for the lanes behind the last channel.
template <class F>
void ForEach(const MapShape& map, F f) {
  int64_t at = 0;
  for (int64_t n = 0; n < map.batch; ++n) {
    for (int64_t q = 0; q < map.quads(); ++q) {
      for (int64_t p = 0; p < map.pixels; ++p) {
        for (int64_t lane = 0; lane < 4; ++lane, ++at) {
          const int64_t c = q * 4 + lane;
          f(c < map.channels ? (n * map.channels + c) * map.pixels + p : -1, at);
        }
      }
    }
  }
}

}  // namespace

const LayoutPtr& Channel4Layout(bool half) {
  static const LayoutPtr* single = new LayoutPtr(std::make_shared<NC4HW4>(false));
  static const LayoutPtr* halves = new LayoutPtr(std::make_shared<NC4HW4>(true));
  return half ? *halves : *single;
}

MapShape MapOf(const Shape& shape) {
  return {shape.DimOrOne(0), shape.DimOrOne(1), shape.rank() < 2 ? 1 : shape.CountFrom(2)};
}

bool SameBytes(const Shape& shape, const LayoutPtr& arriving) {
  const MapShape map = MapOf(shape);
  return !IsHalf(arriving) && shape.rank() >= 2 && map.pixels == 1 && map.channels % 4 == 0;
}

void PackChannel4(const Shape& shape, const float* src, float* dst) {
  ForEach(MapOf(shape), [&](int64_t plain, int64_t packed) { dst[packed] = plain < 0 ? 0.0f : src[plain]; });
}

void UnpackChannel4(const Shape& shape, const float* src, float* dst) {
  ForEach(MapOf(shape), [&](int64_t plain, int64_t packed) {
    if (plain >= 0) dst[plain] = src[packed];
  });
}

Result<LaunchSpec> ReorderSpec(const DeviceTensor& src, const DeviceTensor& dst) {
  const MapShape map = MapOf(src.shape);
  LaunchSpec spec;
  spec.arguments = {Argument::Output(0), Argument::Input(0)};
  const bool pack = IsChannel4(dst.layout);
  if (pack == IsChannel4(src.layout)) return Status::Internal("a blob is converted to the layout that it has");
  spec.shader = std::string(pack ? "pack4" : "unpack4") + HalfSuffix(pack ? dst.layout : src.layout);
  const int64_t count = map.batch * map.quads() * map.pixels;
  spec.push.Int(count).Int(map.channels).Int(map.pixels).Int(map.quads());
  spec.Over(count);
  return spec;
}

}  // namespace plumb::vulkan
