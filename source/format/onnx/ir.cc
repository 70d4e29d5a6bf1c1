// SPDX-License-Identifier: Apache-2.0
// Element types of ONNX: their names and the dtypes that carry them.
#include "format/onnx/ir.h"

#include <fmt/core.h>

namespace plumb::onnx {
namespace {

struct TypeRow {
  int type;
  const char* name;
  DType stored, carried;
};

// f16 and bf16 are computed in f32 (the reference's storage); f64 in f64.
constexpr TypeRow kTypes[] = {
    {kTypeFloat, "float", DType::kF32, DType::kF32},
    {kTypeUint8, "uint8", DType::kU8, DType::kI64},
    {kTypeInt8, "int8", DType::kI8, DType::kI64},
    {kTypeUint16, "uint16", DType::kU16, DType::kI64},
    {kTypeInt16, "int16", DType::kI16, DType::kI64},
    {kTypeInt32, "int32", DType::kI32, DType::kI32},
    {kTypeInt64, "int64", DType::kI64, DType::kI64},
    {kTypeBool, "bool", DType::kBool, DType::kBool},
    {kTypeFloat16, "float16", DType::kF16, DType::kF32},
    {kTypeDouble, "double", DType::kF64, DType::kF64},
    {kTypeUint32, "uint32", DType::kU32, DType::kI64},
    {kTypeUint64, "uint64", DType::kI64, DType::kI64},
    {kTypeBfloat16, "bfloat16", DType::kBF16, DType::kF32},
    {kTypeFloat8E4M3FN, "float8e4m3fn", DType::kF32, DType::kF32},
    {kTypeFloat8E4M3FNUZ, "float8e4m3fnuz", DType::kF32, DType::kF32},
    {kTypeFloat8E5M2, "float8e5m2", DType::kF32, DType::kF32},
    {kTypeFloat8E5M2FNUZ, "float8e5m2fnuz", DType::kF32, DType::kF32},
    {kTypeFloat4E2M1, "float4e2m1", DType::kF32, DType::kF32},
    {kTypeUint4, "uint4", DType::kI64, DType::kI64},
    {kTypeInt4, "int4", DType::kI64, DType::kI64},
    {kTypeUint2, "uint2", DType::kI64, DType::kI64},
    {kTypeInt2, "int2", DType::kI64, DType::kI64},
};

const TypeRow* Find(int type) {
  for (const TypeRow& row : kTypes) {
    if (row.type == type) return &row;
  }
  return nullptr;
}

}  // namespace

std::string NameOf(const NodeIr& node) {
  if (!node.name.empty()) return node.name;
  for (const std::string& output : node.outputs) {
    if (!output.empty()) return output;
  }
  return node.op_type;
}

std::string TypeName(int type) {
  if (const TypeRow* row = Find(type)) return row->name;
  switch (type) {
    case kTypeUnknown: return "an undefined type";
    case kTypeString: return "string";
    case 14: return "complex64";
    case 15: return "complex128";
    default: return "type " + std::to_string(type);
  }
}

Result<DType> CarriedDType(int type) {
  if (const TypeRow* row = Find(type)) return row->carried;
  return Status::NotSupported(fmt::format("tensors of {} are not supported", TypeName(type)));
}

Result<DType> StoredDType(int type) {
  if (const TypeRow* row = Find(type)) return row->stored;
  return Status::NotSupported(fmt::format("tensors of {} are not supported", TypeName(type)));
}

int TypeOf(DType dtype) {
  switch (dtype) {
    case DType::kF32: return kTypeFloat;
    case DType::kF64: return kTypeDouble;
    case DType::kF16: return kTypeFloat16;
    case DType::kBF16: return kTypeBfloat16;
    case DType::kI8: return kTypeInt8;
    case DType::kU8: return kTypeUint8;
    case DType::kI16: return kTypeInt16;
    case DType::kU16: return kTypeUint16;
    case DType::kI32: return kTypeInt32;
    case DType::kU32: return kTypeUint32;
    case DType::kI64: return kTypeInt64;
    case DType::kBool: return kTypeBool;
  }
  return kTypeUnknown;
}

const TinyType* FindTiny(int type) {
  static const TinyType kTiny[] = {
      {kTypeFloat8E4M3FN, 8, nullptr, FindSmallFloat("e4m3fn"), 0, 0},
      {kTypeFloat8E4M3FNUZ, 8, nullptr, FindSmallFloat("e4m3fnuz"), 0, 0},
      {kTypeFloat8E5M2, 8, nullptr, FindSmallFloat("e5m2"), 0, 0},
      {kTypeFloat8E5M2FNUZ, 8, nullptr, FindSmallFloat("e5m2fnuz"), 0, 0},
      {kTypeFloat4E2M1, 4, nullptr, FindSmallFloat("e2m1fn"), 0, 0},
      {kTypeUint4, 4, "u4", nullptr, 0, 15},
      {kTypeInt4, 4, "i4", nullptr, -8, 7},
      {kTypeUint2, 2, "u2", nullptr, 0, 3},
      {kTypeInt2, 2, "i2", nullptr, -2, 1},
  };
  for (const TinyType& tiny : kTiny) {
    if (tiny.type == type) return &tiny;
  }
  return nullptr;
}

bool IsNarrowInteger(int type) {
  const TinyType* tiny = FindTiny(type);
  if (tiny != nullptr) return tiny->integer != nullptr;
  return type == kTypeInt8 || type == kTypeUint8 || type == kTypeInt16 || type == kTypeUint16 || type == kTypeUint32;
}

}  // namespace plumb::onnx
