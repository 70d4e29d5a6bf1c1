// SPDX-License-Identifier: Apache-2.0
#include "common/plain_values.h"

#include <fmt/core.h>

#include <cstdlib>

namespace plumb {

Result<Tensor> ParsePlainValues(const std::string& text, DType dtype, const Shape& shape) {
  const int64_t count = shape.NumElements();
  const auto most = static_cast<int64_t>(text.size() + 1) / 2;  // "1 2"
  if (count > most) {
    return Status::InvalidArgument(
        fmt::format("it needs {} numbers, {} bytes hold {} at most", count, text.size(), most));
  }
  PLUMB_ASSIGN_OR_RETURN(Tensor values, Tensor::Create(DType::kF64, shape));
  const char* at = text.c_str();
  for (int64_t i = 0; i < count; ++i) {
    char* end = nullptr;
    values.data<double>()[i] = std::strtod(at, &end);
    if (end == at)
      return Status::InvalidArgument(fmt::format("it needs {} numbers, number {} is missing", count, i + 1));
    at = end;
  }
  return values.ConvertedTo(dtype);
}

}  // namespace plumb
