// SPDX-License-Identifier: Apache-2.0
#include "device/opencl/blocked_layout.h"

namespace plumb::opencl {
namespace {

class FormLayout : public Layout {
 public:
  explicit FormLayout(Form form) : form_(form) {}
  std::string Name() const override {
    return std::string(form_.blocked ? "NC8HW8" : "NCHW") + (form_.half ? " f16" : "");
  }
  size_t Bytes(DType dtype, const Shape& shape) const override {
    const size_t element = form_.half && dtype == DType::kF32 ? 2 : DTypeSize(dtype);
    return static_cast<size_t>(PlanesOf(shape, form_.blocked).elements()) * element;
  }

  DType Storage(DType dtype) const override { return form_.half && dtype == DType::kF32 ? DType::kF16 : dtype; }

 private:
  Form form_;
};

}  // namespace

LayoutPtr LayoutOf(Form form) {
  static const auto* plain_half = new LayoutPtr(std::make_shared<FormLayout>(Form{false, true}));
  static const auto* blocked = new LayoutPtr(std::make_shared<FormLayout>(Form{true, false}));
  static const auto* blocked_half = new LayoutPtr(std::make_shared<FormLayout>(Form{true, true}));
  if (form.blocked) return form.half ? *blocked_half : *blocked;
  return form.half ? *plain_half : PlainLayout();
}

Form FormOf(const LayoutPtr& layout) {
  if (layout == nullptr) return {};
  const std::string name = layout->Name();
  return {name.rfind("NC8HW8", 0) == 0, name.size() > 4 && name.compare(name.size() - 4, 4, " f16") == 0};
}

LayoutPtr StoredLayout(const KernelSpec& spec, DType dtype, bool blocked) {
  return LayoutOf({blocked && dtype == DType::kF32, spec.precision != Precision::kHigh && dtype == DType::kF32});
}

Planes PlanesOf(const Shape& shape, bool blocked) {
  return {shape.DimOrOne(0), shape.DimOrOne(1), shape.CountFrom(2), blocked ? kBlock : 1};
}

size_t ElementBytes(const DeviceTensor& tensor) {
  return tensor.dtype == DType::kF32 && FormOf(tensor.layout).half ? 2 : DTypeSize(tensor.dtype);
}

}  // namespace plumb::opencl
