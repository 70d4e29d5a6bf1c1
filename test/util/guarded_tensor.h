// SPDX-License-Identifier: Apache-2.0
// GuardedTensor: a tensor between two zones of a known pattern, so that a stray write of a kernel is seen.
#ifndef PLUMB_TEST_UTIL_GUARDED_TENSOR_H_
#define PLUMB_TEST_UTIL_GUARDED_TENSOR_H_

#include <cstring>
#include <memory>
#include <vector>

#include "plumb/tensor.h"

namespace plumb {

class GuardedTensor {
 public:
  // The content is poison (NaN for floats), so that an element which nobody writes is seen too.
  GuardedTensor(DType dtype, const Shape& shape) {
    const size_t bytes = static_cast<size_t>(shape.NumElements()) * DTypeSize(dtype);
    memory_ = std::make_shared<std::vector<unsigned char>>(bytes + 2 * kZone + kAlign, kGuard);
    const auto address = reinterpret_cast<uintptr_t>(memory_->data()) + kZone;
    unsigned char* data = memory_->data() + kZone + (kAlign - address % kAlign) % kAlign;
    std::memset(data, 0xFF, bytes);
    begin_ = static_cast<size_t>(data - memory_->data());
    end_ = begin_ + bytes;
    tensor_ = Tensor::View(dtype, shape, data, memory_);
  }

  Tensor& tensor() { return tensor_; }
  bool intact() const {
    for (size_t i = 0; i < memory_->size(); ++i) {
      if ((i < begin_ || i >= end_) && (*memory_)[i] != kGuard) return false;
    }
    return true;
  }

 private:
  static constexpr size_t kZone = 256, kAlign = 64;
  static constexpr unsigned char kGuard = 0xA5;

  std::shared_ptr<std::vector<unsigned char>> memory_;
  size_t begin_ = 0, end_ = 0;
  Tensor tensor_;
};

}  // namespace plumb

#endif  // PLUMB_TEST_UTIL_GUARDED_TENSOR_H_
