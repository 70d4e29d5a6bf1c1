// SPDX-License-Identifier: Apache-2.0
// What the checker needs of each blob that it meets: float64 values, whether all are finite, and a fingerprint.
#ifndef PLUMB_CHECK_CORE_INSPECT_H_
#define PLUMB_CHECK_CORE_INSPECT_H_

#include <cstdint>

#include "plumb/tensor.h"

namespace plumb {

struct Inspected {
  Tensor wide;         // f64 when the tensor is f32, else the tensor itself
  bool finite = true;  // of f32 values
  uint64_t fingerprint = 0;
};

// All of it in one sweep.
Result<Inspected> Inspect(const Tensor& tensor);

// 64 bits that tell whether a blob changed between its writer and its reader; not for adversaries.
uint64_t Fingerprint(const Tensor& tensor);

// f32 as f64, other dtypes as they are.
Result<Tensor> Widened(const Tensor& tensor);

}  // namespace plumb

#endif  // PLUMB_CHECK_CORE_INSPECT_H_
