// SPDX-License-Identifier: Apache-2.0
// From a dtype at run time to a C++ type: calls a generic lambda with a value of the element type.
#ifndef PLUMB_BASE_BY_DTYPE_H_
#define PLUMB_BASE_BY_DTYPE_H_

#include <cstdint>
#include <string>

#include "plumb/status.h"
#include "plumb/tensor.h"

namespace plumb {

// For code that moves elements: f(uint8_t{}) ... f(uint64_t{}) by the size of the dtype.
template <class F>
Status WithBits(DType dtype, F&& f) {
  switch (DTypeSize(dtype)) {
    case 1: return f(uint8_t{});
    case 2: return f(uint16_t{});
    case 4: return f(uint32_t{});
    default: return f(uint64_t{});
  }
}

// For code that computes: f(float{}), f(double{}), f(int32_t{}) or f(int64_t{}).
template <class F>
Status WithNumber(DType dtype, F&& f) {
  switch (dtype) {
    case DType::kF32: return f(float{});
    case DType::kF64: return f(double{});
    case DType::kI32: return f(int32_t{});
    case DType::kI64: return f(int64_t{});
    default: return Status::NotSupported(std::string("expects f32, f64, i32 or i64, found ") + DTypeName(dtype));
  }
}

}  // namespace plumb

#endif  // PLUMB_BASE_BY_DTYPE_H_
