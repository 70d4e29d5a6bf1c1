// SPDX-License-Identifier: Apache-2.0
#include "graph/random_inputs.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/text.h"
#include "graph/philox.h"

namespace plumb {
namespace {

InputRange RangeOf(DType dtype, const std::optional<InputRange>& range) {
  return range.has_value() ? *range : DefaultInputRange(dtype);
}

template <class T, class F>
void FillRandomInputs(const PhiloxStream& stream, Tensor* tensor, F value) {
  T* dst = tensor->data<T>();
  const int64_t count = tensor->NumElements();
  for (int64_t i = 0; i < count; i += 4) {
    const PhiloxCounter bits = stream.Block(static_cast<uint64_t>(i / 4));
    for (int64_t j = i; j < i + 4 && j < count; ++j) dst[j] = static_cast<T>(value(bits[static_cast<size_t>(j - i)]));
  }
}

template <class T>
void FillAscending(const InputRange& range, Tensor* tensor) {
  const Shape& shape = tensor->shape();
  const int64_t row = shape.rank() == 0 ? 1 : std::max<int64_t>(shape[shape.rank() - 1], 1);
  for (int64_t i = 0; i < tensor->NumElements(); ++i)
    tensor->data<T>()[i] = static_cast<T>(std::min(range.lo + static_cast<double>(i % row), range.hi));
}

}  // namespace

InputRange DefaultInputRange(DType dtype) { return IsFloat(dtype) ? InputRange{-1, 1} : InputRange{0, 1, true}; }

Result<Tensor> RandomInput(const std::string& name, DType dtype, const Shape& shape, uint64_t seed,
                           const std::optional<InputRange>& wanted) {
  const InputRange range = RangeOf(dtype, wanted);
  PLUMB_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(dtype, shape));
  if (range.ascending && (dtype == DType::kI64 || dtype == DType::kI32)) {
    dtype == DType::kI64 ? FillAscending<int64_t>(range, &tensor) : FillAscending<int32_t>(range, &tensor);
    return tensor;
  }
  const PhiloxStream stream(seed, "input", name);
  const auto real = [&](uint32_t bits) {  // 24 bits: every f32 in [0, 1) of that grid is exact
    return range.lo + (range.hi - range.lo) * (static_cast<double>(bits >> 8) * 0x1p-24);
  };
  const double steps = std::floor(range.hi) - std::ceil(range.lo) + 1;
  const auto integer = [&](uint32_t bits) {
    return static_cast<int64_t>(std::ceil(range.lo) + std::floor(static_cast<double>(bits) * 0x1p-32 * steps));
  };
  switch (dtype) {
    case DType::kF32:
      if (range.whole)
        FillRandomInputs<float>(stream, &tensor, integer);
      else
        FillRandomInputs<float>(stream, &tensor, real);
      break;
    case DType::kI8: FillRandomInputs<int8_t>(stream, &tensor, integer); break;
    case DType::kU8: FillRandomInputs<uint8_t>(stream, &tensor, integer); break;
    case DType::kI32: FillRandomInputs<int32_t>(stream, &tensor, integer); break;
    case DType::kI64: FillRandomInputs<int64_t>(stream, &tensor, integer); break;
    case DType::kBool:
      FillRandomInputs<bool>(stream, &tensor, [&](uint32_t bits) { return range.lo > 0 || bits >> 31 != 0; });
      break;
    default:
      return Status::NotSupported(
          fmt::format("network input '{}' is {}, which is not generated: give it with InputOptions::files", name,
                      DTypeName(dtype)));
  }
  return tensor;
}

std::string DescribeRandomInput(DType dtype, uint64_t seed, const std::optional<InputRange>& wanted,
                                const std::string& why) {
  const InputRange range = RangeOf(dtype, wanted);
  const std::string reason = why.empty() ? "" : fmt::format(" ({})", why);
  if (range.ascending)
    return fmt::format("generated, ascending {}..{}{}", Number(range.lo, 17), Number(range.hi, 17), reason);
  char text[96];
  if (dtype == DType::kBool) {
    std::snprintf(text, sizeof(text), range.lo > 0 ? "1" : "0 or 1");
  } else {
    std::snprintf(text, sizeof(text), IsFloat(dtype) && !range.whole ? "[%g,%g)" : "%.17g..%.17g", range.lo, range.hi);
  }
  return fmt::format("generated, uniform {}{}, seed {}", text, reason, seed);
}

}  // namespace plumb
