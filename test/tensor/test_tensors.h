// SPDX-License-Identifier: Apache-2.0
// Tensors that are awkward to write down, one per dtype, and comparison bit by bit (every NaN equals every NaN).
#ifndef PLUMB_TEST_FORMAT_TENSOR_TEST_TENSORS_H_
#define PLUMB_TEST_FORMAT_TENSOR_TEST_TENSORS_H_

#include <stdlib.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "base/half.h"
#include "plumb/tensor.h"

namespace plumb {

constexpr DType kAllDTypes[] = {DType::kF32, DType::kF16, DType::kBF16, DType::kF64, DType::kI8,  DType::kU8,
                                DType::kI16, DType::kU16, DType::kI32,  DType::kU32, DType::kI64, DType::kBool};

// Random bits, preceded by zero, minus zero, subnormals, the largest values, infinities and NaN (for floats).
inline Tensor AwkwardTensor(DType dtype, Shape shape, uint32_t seed = 1) {
  Tensor tensor = Tensor::Create(dtype, std::move(shape)).value();
  std::mt19937 random(seed);
  auto* bytes = static_cast<uint8_t*>(tensor.raw());
  for (size_t i = 0; i < tensor.bytes(); ++i) bytes[i] = static_cast<uint8_t>(random());
  const int64_t count = tensor.NumElements();
  if (dtype == DType::kBool) {
    for (int64_t i = 0; i < count; ++i) bytes[i] &= 1;
  }
  if (dtype == DType::kF32) {
    const std::vector<float> first = {0.f,  -0.f,       1e-45f, -1.17549435e-38f, 3.40282347e38f,
                                      0.1f, 16777216.f, 1e-5f,  INFINITY,         -INFINITY,
                                      NAN,  33554432.f};
    for (int64_t i = 0; i < count && i < static_cast<int64_t>(first.size()); ++i) {
      tensor.data<float>()[i] = first[static_cast<size_t>(i)];
    }
  }
  return tensor;
}

inline bool SameBits(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
  const size_t size = DTypeSize(a.dtype());
  for (int64_t i = 0; i < a.NumElements(); ++i) {
    const size_t at = static_cast<size_t>(i) * size;
    if (std::memcmp(static_cast<const char*>(a.raw()) + at, static_cast<const char*>(b.raw()) + at, size) == 0)
      continue;
    if (!IsFloat(a.dtype()) || !std::isnan(a.ValueAt(i)) || !std::isnan(b.ValueAt(i))) return false;
  }
  return true;
}

// A folder that goes away with the object.
class TempFolder {
 public:
  TempFolder() : path_((std::filesystem::temp_directory_path() / "plumb_test_XXXXXX").string()) {
    if (mkdtemp(path_.data()) == nullptr) std::abort();
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace plumb

#endif  // PLUMB_TEST_FORMAT_TENSOR_TEST_TENSORS_H_
