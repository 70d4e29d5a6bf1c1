// SPDX-License-Identifier: Apache-2.0
#include "device/cpu/half_layout.h"

#include <utility>

#include "base/threads.h"
#include "device/cpu/blocked_layout.h"
#include "simd/convert.h"

namespace plumb::cpu {
namespace {

constexpr int64_t kHalfGrain = 1 << 15;  // elements that are worth a second thread

class HalfLayout : public Layout {
 public:
  explicit HalfLayout(LayoutPtr order) : order_(std::move(order)) {}
  std::string Name() const override { return order_->Name() + " f16"; }
  size_t Bytes(DType dtype, const Shape& shape) const override { return order_->Bytes(Storage(dtype), shape); }
  DType Storage(DType dtype) const override { return dtype == DType::kF32 ? DType::kF16 : dtype; }
  const LayoutPtr& order() const { return order_; }

 private:
  LayoutPtr order_;
};

int64_t ElementsOf(const DeviceTensor& half) { return static_cast<int64_t>(half.bytes() / sizeof(uint16_t)); }

}  // namespace

LayoutPtr HalfOf(const LayoutPtr& layout) {
  static const auto* plain = new LayoutPtr(std::make_shared<HalfLayout>(PlainLayout()));
  static const auto* blocked = new LayoutPtr(std::make_shared<HalfLayout>(BlockedLayout()));
  if (IsHalf(layout)) return layout;
  return IsBlocked(layout) ? *blocked : *plain;
}

bool IsHalf(const LayoutPtr& layout) { return dynamic_cast<const HalfLayout*>(layout.get()) != nullptr; }

const LayoutPtr& OrderOf(const LayoutPtr& layout) {
  const auto* half = dynamic_cast<const HalfLayout*>(layout.get());
  return half == nullptr ? layout : half->order();
}

void Widen(const DeviceTensor& half, const DeviceTensor& wide) {
  const uint16_t* from = half.host<uint16_t>();
  float* to = wide.host<float>();
  ParallelFor(ElementsOf(half), kHalfGrain, [&](int64_t begin, int64_t end) {
    simd::HalfToFloat(from + begin, to + begin, static_cast<size_t>(end - begin));
  });
}

void Narrow(const DeviceTensor& wide, const DeviceTensor& half) {
  const float* from = wide.host<float>();
  uint16_t* to = half.host<uint16_t>();
  ParallelFor(ElementsOf(half), kHalfGrain, [&](int64_t begin, int64_t end) {
    simd::FloatToHalf(from + begin, to + begin, static_cast<size_t>(end - begin));
  });
}

}  // namespace plumb::cpu
