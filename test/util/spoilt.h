// SPDX-License-Identifier: Apache-2.0
// A gross fault for any tensor.
#ifndef PLUMB_TEST_UTIL_SPOILT_H_
#define PLUMB_TEST_UTIL_SPOILT_H_

#include "plumb/tensor.h"

namespace plumb {

// Every value is another one: grossly wrong, whatever it was.
inline Tensor Spoilt(const Tensor& tensor) {
  Tensor spoilt = tensor.Clone().value();
  for (int64_t i = 0; i < tensor.NumElements(); ++i) {
    switch (tensor.dtype()) {
      case DType::kF32: spoilt.data<float>()[i] = tensor.data<float>()[i] * -1.5f + 1; break;
      case DType::kF64: spoilt.data<double>()[i] = tensor.data<double>()[i] * -1.5 + 1; break;
      case DType::kI32: spoilt.data<int32_t>()[i] += 3; break;
      case DType::kI64: spoilt.data<int64_t>()[i] += 3; break;
      case DType::kI8: spoilt.data<int8_t>()[i] = static_cast<int8_t>(tensor.data<int8_t>()[i] ^ 1); break;
      case DType::kU8: spoilt.data<uint8_t>()[i] ^= 1; break;
      case DType::kBool: spoilt.data<bool>()[i] = !tensor.data<bool>()[i]; break;
      default: {
        char* bytes = static_cast<char*>(spoilt.raw());
        bytes[static_cast<size_t>(i) * (tensor.bytes() / static_cast<size_t>(tensor.NumElements()))] ^= 1;
      }
    }
  }
  return spoilt;
}

}  // namespace plumb

#endif  // PLUMB_TEST_UTIL_SPOILT_H_
