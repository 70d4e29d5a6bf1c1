// SPDX-License-Identifier: Apache-2.0
#include "plumb/tensor.h"

#include <fmt/core.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <type_traits>

#include "base/block_pool.h"
#include "base/convert.h"
#include "base/half.h"
#include "base/memory_budget.h"
#include "base/threads.h"
#include "plumb/tool/terminal.h"

namespace plumb {
namespace {

constexpr int64_t kZeroGrain = 1 << 19;  // bytes: their first touch is what takes time

// f16 and bf16 as element types of their own, so that one template converts everything.
struct Half {
  uint16_t bits;
};
struct BFloat16 {
  uint16_t bits;
};

template <class F>
void WithType(DType dtype, F&& f) {
  switch (dtype) {
    case DType::kF32: f(float{}); break;
    case DType::kF16: f(Half{}); break;
    case DType::kBF16: f(BFloat16{}); break;
    case DType::kF64: f(double{}); break;
    case DType::kI8: f(int8_t{}); break;
    case DType::kU8: f(uint8_t{}); break;
    case DType::kI16: f(int16_t{}); break;
    case DType::kU16: f(uint16_t{}); break;
    case DType::kI32: f(int32_t{}); break;
    case DType::kU32: f(uint32_t{}); break;
    case DType::kI64: f(int64_t{}); break;
    case DType::kBool: f(bool{}); break;
  }
}

template <class T>
auto Load(T value) {
  return value;
}
inline float Load(Half value) { return HalfToFloat(value.bits); }
inline float Load(BFloat16 value) { return BFloat16ToFloat(value.bits); }

// double -> f16/bf16 through f32 rounds twice; odd rounding of the first step makes the result right.
inline float RoundToOdd(double value) {
  float nearest = static_cast<float>(value);
  if (static_cast<double>(nearest) == value || std::isnan(value) || std::isinf(nearest)) return nearest;
  uint32_t bits = FloatToBits(nearest);
  const bool away = std::fabs(static_cast<double>(nearest)) > std::fabs(value);
  if (away) bits -= 1;
  return BitsToFloat(bits | 1u);
}
inline float ToFloatForHalf(double value) { return RoundToOdd(value); }
inline float ToFloatForHalf(float value) { return value; }
template <class T>
float ToFloatForHalf(T value) {
  return RoundToOdd(static_cast<double>(value));
}

template <class To, class From>
To Store(From value) {
  if constexpr (std::is_same_v<To, Half>) {
    return Half{FloatToHalf(ToFloatForHalf(value))};
  } else if constexpr (std::is_same_v<To, BFloat16>) {
    return BFloat16{FloatToBFloat16(ToFloatForHalf(value))};
  } else if constexpr (std::is_same_v<To, bool>) {
    return value != From(0);
  } else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
    if (!(value == value)) return To(0);
    const double truncated = std::trunc(static_cast<double>(value));
    if (truncated <= static_cast<double>(std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
    if (truncated >= static_cast<double>(std::numeric_limits<To>::max())) return std::numeric_limits<To>::max();
    return static_cast<To>(truncated);
  } else {
    return static_cast<To>(value);
  }
}

}  // namespace

void ConvertElements(DType from_type, const void* src, DType to_type, void* dst, int64_t count) {
  WithType(from_type, [&](auto from) {
    const auto* in = static_cast<const decltype(from)*>(src);
    WithType(to_type, [&](auto to) {
      using To = decltype(to);
      To* out = static_cast<To*>(dst);
      for (int64_t i = 0; i < count; ++i) out[i] = Store<To>(Load(in[i]));
    });
  });
}

Result<Tensor> Tensor::Create(DType dtype, Shape shape) {
  PLUMB_RETURN_IF_ERROR(shape.Validate());
  Tensor tensor;
  tensor.dtype_ = dtype;
  tensor.shape_ = std::move(shape);
  tensor.data_ = AllocateBlock(tensor.bytes());
  if (tensor.data_ == nullptr) {
    return NoMemory(tensor.bytes(), fmt::format("a tensor {} {}", tensor.shape_.ToString(), DTypeName(dtype)));
  }
  return tensor;
}

Result<Tensor> Tensor::Zeros(DType dtype, Shape shape) {
  PLUMB_ASSIGN_OR_RETURN(Tensor tensor, Create(dtype, std::move(shape)));
  auto* bytes = static_cast<uint8_t*>(tensor.raw());
  ParallelFor(static_cast<int64_t>(tensor.bytes()), kZeroGrain,
              [&](int64_t begin, int64_t end) { std::memset(bytes + begin, 0, static_cast<size_t>(end - begin)); });
  return tensor;
}

Tensor Tensor::View(DType dtype, Shape shape, void* data, std::shared_ptr<void> owner) {
  Tensor tensor;
  tensor.dtype_ = dtype;
  tensor.shape_ = std::move(shape);
  tensor.data_ = std::shared_ptr<void>(std::move(owner), data);
  return tensor;
}

void Tensor::DieOfElement(size_t size, bool is_float) const {
  WriteTerminal(Terminal::kError,
                fmt::format("plumb: Tensor::data<T>() with {} type T of {} bytes on a tensor of {} {}; "
                            "ask dtype() first\n",
                            is_float ? "a floating point" : "an integer", size, DTypeName(dtype_), shape_.ToString()));
  std::abort();
}

Result<Tensor> Tensor::Clone() const {
  if (empty()) return Tensor();
  PLUMB_ASSIGN_OR_RETURN(Tensor copy, Create(dtype_, shape_));
  std::memcpy(copy.raw(), raw(), bytes());
  return copy;
}

Result<Tensor> Tensor::Reshaped(Shape shape) const {
  PLUMB_RETURN_IF_ERROR(shape.Validate());
  if (shape.NumElements() != NumElements()) {
    return Status::InvalidArgument(
        fmt::format("a tensor {} cannot take the shape {}", shape_.ToString(), shape.ToString()));
  }
  Tensor view = *this;
  view.shape_ = std::move(shape);
  return view;
}

Result<Tensor> Tensor::ConvertedTo(DType dtype) const {
  if (dtype == dtype_) return *this;
  PLUMB_ASSIGN_OR_RETURN(Tensor out, Create(dtype, shape_));
  ConvertElements(dtype_, raw(), dtype, out.raw(), NumElements());
  return out;
}

double Tensor::ValueAt(int64_t index) const {
  double value = 0;
  WithType(dtype_,
           [&](auto type) { value = static_cast<double>(Load(static_cast<const decltype(type)*>(raw())[index])); });
  return value;
}

}  // namespace plumb
