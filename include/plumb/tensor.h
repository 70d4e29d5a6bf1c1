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
#include <memory>
#include <type_traits>

#include "plumb/dtype.h"
#include "plumb/shape.h"
#include "plumb/status.h"

namespace plumb {

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
