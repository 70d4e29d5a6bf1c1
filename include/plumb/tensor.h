// SPDX-License-Identifier: Apache-2.0
// Tensor: a dense array in host memory, C order of its logical dims (NCHW for a feature map).
//
// The memory is shared by copies (like a shared_ptr) and aligned to 64 bytes, so passing a Tensor by value is cheap and
// Clone() is the way to an independent copy. Files, network inputs and outputs, weights and everything that the checker
// compares are Tensors; what a device holds is a DeviceTensor (source/device/layout.h).
// Threading: concurrent reads are safe; a writer needs the tensor for itself.
#ifndef PLUMB_TENSOR_H_
#define PLUMB_TENSOR_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "plumb/status.h"

namespace plumb {

// Element types of tensors and blobs, spelled f32 f16 bf16 f64 i8 u8 i16 u16 i32 u32 i64 bool everywhere.
enum class DType { kF32, kF16, kBF16, kF64, kI8, kU8, kI16, kU16, kI32, kU32, kI64, kBool };

// Bytes of one element.
constexpr size_t DTypeSize(DType dtype) {
  switch (dtype) {
    case DType::kF64:
    case DType::kI64: return 8;
    case DType::kF32:
    case DType::kI32:
    case DType::kU32: return 4;
    case DType::kF16:
    case DType::kBF16:
    case DType::kI16:
    case DType::kU16: return 2;
    case DType::kI8:
    case DType::kU8:
    case DType::kBool: return 1;
  }
  return 1;
}
// "f32", "bool", ...
const char* DTypeName(DType dtype);
// The dtype of that name, or nothing.
std::optional<DType> ParseDType(std::string_view name);
// f32, f16, bf16, f64.
bool IsFloat(DType dtype);

// C++ element type -> DType (f16 and bf16 are stored as uint16_t and have no C++ type; see base/half.h).
template <class T>
struct DTypeOf;

// clang-format off
template <> struct DTypeOf<float> { static constexpr DType value = DType::kF32; };
template <> struct DTypeOf<double> { static constexpr DType value = DType::kF64; };
template <> struct DTypeOf<int8_t> { static constexpr DType value = DType::kI8; };
template <> struct DTypeOf<uint8_t> { static constexpr DType value = DType::kU8; };
template <> struct DTypeOf<int16_t> { static constexpr DType value = DType::kI16; };
template <> struct DTypeOf<uint16_t> { static constexpr DType value = DType::kU16; };
template <> struct DTypeOf<int32_t> { static constexpr DType value = DType::kI32; };
template <> struct DTypeOf<uint32_t> { static constexpr DType value = DType::kU32; };
template <> struct DTypeOf<int64_t> { static constexpr DType value = DType::kI64; };
template <> struct DTypeOf<bool> { static constexpr DType value = DType::kBool; };
// clang-format on

// Whether elements of that dtype may be read as T: the dtype's own type, or the unsigned integer of its size for the
// bits alone (the only way to read f16 and bf16).
template <class T>
constexpr bool IsElement(DType dtype) {
  if constexpr (std::is_unsigned_v<T> && !std::is_same_v<T, bool>) {
    return sizeof(T) == DTypeSize(dtype);
  } else {
    return DTypeOf<T>::value == dtype;
  }
}

// Shape: the dims of a tensor in logical order (N, C, then spatial), whatever its memory layout.
// Rank 0 is a scalar with one element; a dim may be 0 (an empty tensor); a dim is never negative once a graph is
// prepared.
class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<int64_t> dims) : dims_(dims) {}
  explicit Shape(std::vector<int64_t> dims) : dims_(std::move(dims)) {}

  int rank() const { return static_cast<int>(dims_.size()); }
  const std::vector<int64_t>& dims() const { return dims_; }
  std::vector<int64_t>& dims() { return dims_; }
  int64_t operator[](int i) const { return dims_[static_cast<size_t>(i)]; }
  int64_t& operator[](int i) { return dims_[static_cast<size_t>(i)]; }
  // The dim, or 1 when the rank is too small (TNN's rule: a missing dim counts as 1).
  int64_t DimOrOne(int i) const { return i < rank() ? dims_[static_cast<size_t>(i)] : 1; }

  // Product of all dims; 1 for rank 0. REQUIRES: Validate() is OK (no overflow).
  int64_t NumElements() const { return CountFrom(0); }
  // Product of dims[from ...]; 1 past the end.
  int64_t CountFrom(int from) const { return Count(from, rank()); }
  // Product of dims[from ... to).
  int64_t Count(int from, int to) const;
  // InvalidArgument when a dim is negative or the product of the dims that are not zero exceeds 2^40.
  Status Validate() const;
  // "[1,3,224,224]"; "[]" for a scalar.
  std::string ToString() const;

  bool operator==(const Shape& other) const { return dims_ == other.dims_; }
  bool operator!=(const Shape& other) const { return dims_ != other.dims_; }

 private:
  std::vector<int64_t> dims_;
};

class Tensor {
 public:
  Tensor() = default;  // empty(): no storage, rank 0, f32

  // Uninitialised memory for `shape` elements. OutOfMemory or InvalidArgument (a shape that does not Validate).
  static Result<Tensor> Create(DType dtype, Shape shape);
  // Like Create, all bytes zero.
  static Result<Tensor> Zeros(DType dtype, Shape shape);
  // A tensor over memory of somebody else, who keeps it alive through `owner`.
  static Tensor View(DType dtype, Shape shape, void* data, std::shared_ptr<void> owner);

  bool empty() const { return data_ == nullptr; }  // default-made; a tensor of zero elements is not "empty"
  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  int64_t NumElements() const { return shape_.NumElements(); }
  size_t bytes() const { return static_cast<size_t>(NumElements()) * DTypeSize(dtype_); }

  void* raw() { return data_.get(); }
  const void* raw() const { return data_.get(); }
  // REQUIRES: IsElement<T>(dtype()): float for f32, int64_t for i64, uint16_t for the bits of f16 and bf16. Any other T
  // ends the program with a message. Null for a tensor that is empty().
  template <class T>
  T* data() {
    CheckElement<T>();
    return static_cast<T*>(data_.get());
  }
  template <class T>
  const T* data() const {
    CheckElement<T>();
    return static_cast<const T*>(data_.get());
  }

  Result<Tensor> Clone() const;
  // The same memory under another shape of as many elements.
  Result<Tensor> Reshaped(Shape shape) const;
  // A new tensor of the other dtype: floats round to nearest even, integers wrap, float to integer truncates and
  // saturates (NaN gives 0), anything to bool is != 0. The same dtype shares memory.
  Result<Tensor> ConvertedTo(DType dtype) const;
  // Element `index` as a double (int64 beyond 2^53 rounds).
  double ValueAt(int64_t index) const;

 private:
  template <class T>
  void CheckElement() const {
    if (!IsElement<T>(dtype_) && data_ != nullptr) DieOfElement(sizeof(T), std::is_floating_point_v<T>);
  }
  [[noreturn]] void DieOfElement(size_t size, bool is_float) const;

  DType dtype_ = DType::kF32;
  Shape shape_;
  std::shared_ptr<void> data_;
};

}  // namespace plumb

#endif  // PLUMB_TENSOR_H_
