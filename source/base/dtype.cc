// SPDX-License-Identifier: Apache-2.0
#include "plumb/tensor.h"

namespace plumb {
namespace {

struct Row {
  DType dtype;
  const char* name;
};

// One row per DType, in enum order.
constexpr Row kRows[] = {
    {DType::kF32, "f32"}, {DType::kF16, "f16"}, {DType::kBF16, "bf16"}, {DType::kF64, "f64"},
    {DType::kI8, "i8"},   {DType::kU8, "u8"},   {DType::kI16, "i16"},   {DType::kU16, "u16"},
    {DType::kI32, "i32"}, {DType::kU32, "u32"}, {DType::kI64, "i64"},   {DType::kBool, "bool"},
};

}  // namespace

const char* DTypeName(DType dtype) { return kRows[static_cast<int>(dtype)].name; }

std::optional<DType> ParseDType(std::string_view name) {
  for (const Row& row : kRows) {
    if (name == row.name) return row.dtype;
  }
  return std::nullopt;
}

bool IsFloat(DType dtype) { return static_cast<int>(dtype) <= static_cast<int>(DType::kF64); }

}  // namespace plumb
