#include "plumb/dtype.h"

namespace plumb {
namespace {

struct Row {
  DType dtype;
  const char* name;
  size_t size;
};

// One row per DType, in enum order.
constexpr Row kRows[] = {
    {DType::kF32, "f32", 4}, {DType::kF16, "f16", 2}, {DType::kBF16, "bf16", 2},
    {DType::kF64, "f64", 8}, {DType::kI8, "i8", 1},   {DType::kU8, "u8", 1},
    {DType::kI16, "i16", 2}, {DType::kU16, "u16", 2}, {DType::kI32, "i32", 4},
    {DType::kU32, "u32", 4}, {DType::kI64, "i64", 8}, {DType::kBool, "bool", 1},
};

}  // namespace

size_t DTypeSize(DType dtype) { return kRows[static_cast<int>(dtype)].size; }

const char* DTypeName(DType dtype) { return kRows[static_cast<int>(dtype)].name; }

std::optional<DType> ParseDType(std::string_view name) {
  for (const Row& row : kRows) {
    if (name == row.name) return row.dtype;
  }
  return std::nullopt;
}

bool IsFloat(DType dtype) { return static_cast<int>(dtype) <= static_cast<int>(DType::kF64); }

}  // namespace plumb
