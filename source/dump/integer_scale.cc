// SPDX-License-Identifier: Apache-2.0
#include "dump/integer_scale.h"

#include <algorithm>
#include <cmath>

namespace plumb {

bool IntegerScale::Fits(const Shape& shape) const {
  if (scale.empty() || scale.size() != zero_point.size()) return false;
  if (!std::all_of(scale.begin(), scale.end(), [](double value) { return std::isfinite(static_cast<float>(value)); }))
    return false;
  if (scale.size() == 1) return true;
  return axis >= 0 && axis < shape.rank() && shape[axis] == static_cast<int64_t>(scale.size());
}

Result<Tensor> Dequantise(const Tensor& integers, const IntegerScale& scale) {
  if (IsFloat(integers.dtype())) return Status::InvalidArgument("floats have a scale, which only integers can have");
  PLUMB_ASSIGN_OR_RETURN(const Tensor wide, integers.ConvertedTo(DType::kI64));
  PLUMB_ASSIGN_OR_RETURN(Tensor floats, Tensor::Create(DType::kF32, integers.shape()));
  const size_t count = scale.scale.size();
  const int64_t inner = count == 1 ? 1 : integers.shape().CountFrom(scale.axis + 1);
  const auto* src = wide.data<int64_t>();
  auto* dst = floats.data<float>();
  for (int64_t i = 0; i < integers.NumElements(); ++i) {
    const size_t entry = count == 1 ? 0 : static_cast<size_t>(i / inner) % count;
    // Apart, they may be beyond what an i64 holds.
    const double distance = static_cast<double>(src[i]) - static_cast<double>(scale.zero_point[entry]);
    dst[i] = static_cast<float>(distance) * static_cast<float>(scale.scale[entry]);
  }
  return floats;
}

}  // namespace plumb
