// SPDX-License-Identifier: Apache-2.0
#include "format/tnn/types.h"

#include <fmt/core.h>

#include <map>
#include <unordered_map>

namespace plumb::tnn {
namespace {

struct Row {
  int number;
  const char* string;
};

constexpr Row kRows[] = {
#define PLUMB_TNN_TYPE(number, string) {number, #string},
#include "format/tnn/type_list.def"
#undef PLUMB_TNN_TYPE
};

struct Tables {
  std::unordered_map<std::string_view, int> numbers;
  std::map<int, const OpDef*> ops;  // by number: the operator that one of the number's strings names
};

const Tables& GetTables() {
  static const Tables* tables = [] {
    auto* made = new Tables;
    for (const Row& row : kRows) {
      made->numbers.emplace(row.string, row.number);
      if (const OpDef* op = FindOp(row.string)) made->ops.emplace(row.number, op);
    }
    return made;
  }();
  return *tables;
}

constexpr std::string_view kQuantized = "Quantized";
constexpr std::string_view kDynamicRange = "DynamicRangeQuantized";

bool StartsWith(std::string_view text, std::string_view prefix) { return text.substr(0, prefix.size()) == prefix; }

struct DataType {
  int number;
  DType dtype;
};

constexpr DataType kDataTypes[] = {
    {0, DType::kF32},  {1, DType::kF16},   {2, DType::kI8},    {3, DType::kI32},
    {4, DType::kBF16}, {5, DType::kI64},   {6, DType::kU32},   {256, DType::kF64},
    {257, DType::kU8}, {258, DType::kI16}, {259, DType::kU16}, {260, DType::kBool},
};

}  // namespace

std::optional<int> FindTypeNumber(std::string_view type) {
  const auto& numbers = GetTables().numbers;
  const auto it = numbers.find(type);
  if (it == numbers.end()) return std::nullopt;
  return it->second;
}

const OpDef* FindOpByNumber(int number) {
  const auto& ops = GetTables().ops;
  const auto it = ops.find(number);
  return it == ops.end() ? nullptr : it->second;
}

std::optional<LayerType> FindLayerType(std::string_view type) {
  LayerType found;
  const std::optional<int> number = FindTypeNumber(type);
  found.op = FindOp(type);
  if (!number) return found.op == nullptr ? std::nullopt : std::optional<LayerType>(found);
  found.number = *number;
  if (found.op == nullptr) found.op = FindOpByNumber(*number);
  found.quantized = StartsWith(type, kQuantized);
  found.dynamic_range_quantized = StartsWith(type, kDynamicRange);
  return found;
}

Result<std::string> TypeStringOf(const Layer& layer) {
  const OpDef& op = GetOp(layer.kind);
  std::string type = op.name;
  if (layer.quantized) type = std::string(kQuantized) + type;
  if (layer.dynamic_range_quantized) type = std::string(kDynamicRange) + type;
  const std::optional<LayerType> found = FindLayerType(type);
  if (!found || found->op != &op) {
    return Status::NotSupported(fmt::format(
        "TNN's format has no type string '{}', so this quantised layer cannot be written; clear its quantisation first",
        type));
  }
  return type;
}

int DataTypeNumber(DType dtype) {
  for (const DataType& entry : kDataTypes) {
    if (entry.dtype == dtype) return entry.number;
  }
  return -1;  // not reached: the table has every DType, which a test checks
}

std::optional<DType> FindDataType(int64_t number) {
  for (const DataType& entry : kDataTypes) {
    if (entry.number == number) return entry.dtype;
  }
  return std::nullopt;
}

}  // namespace plumb::tnn
