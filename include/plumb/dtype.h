// Element types of tensors and blobs, spelled f32 f16 bf16 f64 i8 u8 i16 u16 i32 u32 i64 bool everywhere.
#ifndef PLUMB_DTYPE_H_
#define PLUMB_DTYPE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

namespace plumb {

enum class DType { kF32, kF16, kBF16, kF64, kI8, kU8, kI16, kU16, kI32, kU32, kI64, kBool };

// Bytes of one element.
constexpr size_t DTypeSize(DType dtype) {
  switch (dtype) {
    case DType::kF64:
    case DType::kI64: return 8;
    case DType::kF32:
    case DType::kI32:
    case DType::kU32: return 4;
    case DType::kF16:
    case DType::kBF16:
    case DType::kI16:
    case DType::kU16: return 2;
    case DType::kI8:
    case DType::kU8:
    case DType::kBool: return 1;
  }
  return 1;
}
// "f32", "bool", ...
const char* DTypeName(DType dtype);
// The dtype of that name, or nothing.
std::optional<DType> ParseDType(std::string_view name);
// f32, f16, bf16, f64.
bool IsFloat(DType dtype);

// C++ element type -> DType (f16 and bf16 are stored as uint16_t and have no C++ type; see base/half.h).
template <class T>
struct DTypeOf;

// clang-format off
template <> struct DTypeOf<float> { static constexpr DType value = DType::kF32; };
template <> struct DTypeOf<double> { static constexpr DType value = DType::kF64; };
template <> struct DTypeOf<int8_t> { static constexpr DType value = DType::kI8; };
template <> struct DTypeOf<uint8_t> { static constexpr DType value = DType::kU8; };
template <> struct DTypeOf<int16_t> { static constexpr DType value = DType::kI16; };
template <> struct DTypeOf<uint16_t> { static constexpr DType value = DType::kU16; };
template <> struct DTypeOf<int32_t> { static constexpr DType value = DType::kI32; };
template <> struct DTypeOf<uint32_t> { static constexpr DType value = DType::kU32; };
template <> struct DTypeOf<int64_t> { static constexpr DType value = DType::kI64; };
template <> struct DTypeOf<bool> { static constexpr DType value = DType::kBool; };
// clang-format on

// Whether elements of that dtype may be read as T: the dtype's own type, or the unsigned integer of its size for the
// bits alone (the only way to read f16 and bf16).
template <class T>
constexpr bool IsElement(DType dtype) {
  if constexpr (std::is_unsigned_v<T> && !std::is_same_v<T, bool>) {
    return sizeof(T) == DTypeSize(dtype);
  } else {
    return DTypeOf<T>::value == dtype;
  }
}

}  // namespace plumb

#endif  // PLUMB_DTYPE_H_
