// SPDX-License-Identifier: Apache-2.0
// What the integers of a quantised tensor stand for: scale * (q - zero point), with one pair or one per entry of
// `axis`.
#ifndef PLUMB_DUMP_INTEGER_SCALE_H_
#define PLUMB_DUMP_INTEGER_SCALE_H_

#include <cstdint>
#include <vector>

#include "plumb/tensor.h"

namespace plumb {

struct IntegerScale {
  std::vector<double> scale;
  std::vector<int64_t> zero_point;  // as many
  int axis = 0;

  bool empty() const { return scale.empty(); }
  // Whether the numbers are usable for a tensor of this shape: finite, as many scales as zero points, one or one per
  // entry of a dim that is there.
  bool Fits(const Shape& shape) const;
};

// The floats, f32, with one rounding each of difference, scale and product, as every framework has them. REQUIRES:
// Fits. InvalidArgument: the tensor holds no integers.
Result<Tensor> Dequantise(const Tensor& integers, const IntegerScale& scale);

}  // namespace plumb

#endif  // PLUMB_DUMP_INTEGER_SCALE_H_
